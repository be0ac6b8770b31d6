"""After an MTP verify, the state is committed whatever was accepted."""

from patchtool.semantic import SemanticPatch, fixed, goal, guarded, of_parameter, of_self, one_of, replace

COMMIT = "move_intermediate_cache(SSM_, STEPWISE_, OWN_, ROWS_, LAST_, *MORE_)"


class MtpCommitFirstStep(SemanticPatch):
    """The first token's state is in the intermediates like any other's; nothing else has written it."""

    scope = "AscendHybridLinearAttnBackend.update_mamba_state_after_mtp_verify"
    signatures = (
        """
        move_intermediate_cache(
            ssm_states, intermediate_state_cache, dst_indices_tensor, src_indices_tensor, last_steps_tensor
        )
        """,
    )
    spellings = {
        "(X_ == 0).all().item()": "(X_ == 0).all()",
        "bool((X_ == 0).all())": "(X_ == 0).all()",
        "torch.all(X_ == 0)": "(X_ == 0).all()",
        "torch.all(X_ == 0).item()": "(X_ == 0).all()",
        "bool(torch.all(X_ == 0))": "(X_ == 0).all()",
    }
    edit = replace(
        f"""
        FIRST_ONLY_ = (LAST_ == 0).all()
        if not FIRST_ONLY_:
            {COMMIT}
        """,
        COMMIT,
    )
    goals = (
        goal(
            "the own state is committed whatever was accepted",
            COMMIT,
            within=guarded(present=("OWN_", "LAST_")),
            SSM_=one_of("CACHES_.temporal"),
            STEPWISE_=one_of("CACHES_.intermediate_ssm"),
            OWN_=of_self(),
            ROWS_=one_of("torch.arange(*COUNT_)"),
            LAST_=of_parameter(),
            MORE_=fixed(),
        ),
    )
