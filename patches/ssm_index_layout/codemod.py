"""On graph replay of a target-verify batch, padded rows too get intermediate slots of their own."""

from patchtool.semantic import SemanticPatch, branch, every, goal, keywords, only, param, replace

TARGET = "python/sglang/srt/hardware_backend/npu/attention/ascend_hybrid_linear_attn_backend.py"
DRAFT = "SPEC_.draft_token_num"
IN_VERIFY = branch(
    "MODE_.is_target_verify()",
    apart=(
        "MODE_.is_decode_or_idle()",
        "MODE_.is_decode()",
        "MODE_.is_idle()",
        "MODE_.is_draft_extend(*ANY_)",
        "MODE_ == OTHER_",
    ),
    present=("BS_",),
)


class SsmIndexLayout(SemanticPatch):
    """Row ``b`` stores step ``t`` in slot ``b * draft_token_num + t``.

    Padded rows that all point at slot 0 overwrite row 0's.
    """

    scope = "AscendMambaAttnBackendBase._replay_metadata"
    spellings = {"MODE_ == ForwardMode.TARGET_VERIFY": "MODE_.is_target_verify()"}
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
            f"self.state_indices_list_gdn[BS_ - 1].copy_(torch.arange(BS_ * {DRAFT}, **KIND_))",
            f"self.state_indices_list_gdn[BS_ - 1][: BS_ * {DRAFT}].copy_(torch.arange(BS_ * {DRAFT}, **KIND_))",
            within=IN_VERIFY,
            KIND_=keywords(dtype=("torch.int32", "torch.int64", "torch.long", "torch.int"), device=("OWNER_.device",)),
        ),
    )
    never = (
        only(
            "state_indices_list_gdn is also used in another way",
            "self.state_indices_list_gdn",
            "METADATA_(*REST_, mamba_cache_indices_gdn=self.state_indices_list_gdn[BS_ - 1])",
        ),
        only(
            "the indices are also used in another way",
            "INDICES_",
            "INDICES_ = torch.arange(*REST_)",
            "self.state_indices_list_gdn[BS_ - 1].copy_(INDICES_)",
        ),
    )
    facts = (
        every(
            TARGET,
            "AscendMambaAttnBackendBase",
            "self.state_indices_list_gdn.append(BUFFER_)",
            forms=("self.state_indices_list_gdn.append(torch.MAKE_(((ROW_ + 1) * (TOKENS_ // ROWS_),), *REST_))",),
            why="all slots are written at once, so a buffer must not have more",
        ),
    )
