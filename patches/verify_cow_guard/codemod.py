"""A verify step does not do the clears and copies again that its prompt deferred."""

from patchtool.semantic import Rule, SemanticPatch, goal, guarded, param, replace

RUNNER = "python/sglang/srt/model_executor/model_runner.py"
VERIFY = "BATCH_.forward_mode.is_target_verify()"


class VerifyCowGuard(SemanticPatch):
    """Target-verify is an extend mode, and the batch still has the deferred work of its prompt."""

    spellings = {"MODE_ == ForwardMode.TARGET_VERIFY": "MODE_.is_target_verify()"}
    rules = (
        Rule(
            "deferred work",
            target="python/sglang/srt/layers/attention/hybrid_linear_attn_backend.py",
            scope="MambaAttnBackendBase._execute_deferred_mamba_cow_and_clear",
            places=(f"{RUNNER}:ModelRunner._maybe_execute_deferred_mamba_cow_and_clear",),
            roles={"BATCH_": param("forward_batch", "batch", typed="ForwardBatch")},
            edit=replace(
                """
                if not BATCH_.forward_mode.is_extend() or self.is_draft_worker:
                    return
                """,
                f"""
                if (
                    not BATCH_.forward_mode.is_extend()
                    or {VERIFY}
                    or self.is_draft_worker
                ):
                    return
                """,
            ),
            goals=(
                goal(
                    "a verify step leaves before the deferred work",
                    *(
                        f"if {condition}: return"
                        for condition in (
                            VERIFY,
                            f"{VERIFY} or A_",
                            f"A_ or {VERIFY}",
                            f"A_ or {VERIFY} or B_",
                            f"A_ or {VERIFY} or B_ or C_",
                            f"A_ or B_ or C_ or {VERIFY} or D_",
                        )
                    ),
                    within=guarded(),
                    ahead_of="POOL_.clear_slots(*SLOTS_)",
                ),
            ),
        ),
    )
