"""On graph replay of a target-verify batch, padded rows too get intermediate slots of their own."""

from patchtool.semantic import SemanticPatch, branch, goal, only, param, replace

IN_VERIFY = branch("MODE_.is_target_verify()")


class SsmIndexLayout(SemanticPatch):
    """Row ``b`` stores step ``t`` in slot ``b * draft_token_num + t``; pointing padded rows at slot 0 overwrites row 0."""

    scope = "AscendMambaAttnBackendBase._replay_metadata"
    roles = {"BS_": param("bs", "batch_size")}
    edit = replace(
        """
        INDICES_ = torch.arange(len(SLOTS_[: BS_ - PADDING_]) * DRAFT_, dtype=DTYPE_, device=DEVICE_)
        self.state_indices_list_gdn[BS_ - 1][: len(SLOTS_[: BS_ - PADDING_]) * DRAFT_].copy_(INDICES_)
        self.state_indices_list_gdn[BS_ - 1][len(SLOTS_[: BS_ - PADDING_]) * DRAFT_ :] = 0
        """,
        """
        # Padded rows run too; without slots of their own they overwrite request 0's.
        INDICES_ = torch.arange(
            BS_ * DRAFT_,
            dtype=DTYPE_,
            device=DEVICE_,
        )
        self.state_indices_list_gdn[BS_ - 1].copy_(INDICES_)
        """,
        within=IN_VERIFY,
    )
    goals = (
        goal(
            "every row, padded ones too, has its own slots",
            "INDICES_ = torch.arange(BS_ * DRAFT_, *HOW_)",
            "INDICES_ = torch.arange(DRAFT_ * BS_, *HOW_)",
            within=IN_VERIFY,
            ahead_of="self.state_indices_list_gdn[BS_ - 1].copy_(INDICES_)",
        ),
        goal(
            "the whole buffer is filled",
            "self.state_indices_list_gdn[BS_ - 1].copy_(INDICES_)",
            within=IN_VERIFY,
        ),
    )
    never = (
        only(
            "the indices are also used in another way",
            "INDICES_",
            "INDICES_ = torch.arange(*ANY_)",
            "self.state_indices_list_gdn[BS_ - 1].copy_(INDICES_)",
        ),
        only(
            "state_indices_list_gdn is also used in another way",
            "self.state_indices_list_gdn",
            "self.state_indices_list_gdn[BS_ - 1].copy_(INDICES_)",
            "METADATA_(*REST_, mamba_cache_indices_gdn=self.state_indices_list_gdn[BS_ - 1])",
        ),
    )
