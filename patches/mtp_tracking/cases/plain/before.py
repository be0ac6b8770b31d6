import torch
from sgl_kernel_npu.mamba import conv_state_rollback, move_intermediate_cache


class AscendHybridLinearAttnBackend:
    def update_mamba_state_after_mtp_verify(
        self, accepted, mamba_track_indices, mamba_steps_to_track, model
    ):
        """Commit what was accepted."""
        count = accepted.shape[0]
        caches = self.linear.pool.caches()
        conv = caches.conv[0]
        ssm = caches.temporal
        stepwise = caches.intermediate_ssm
        slots = self.linear.metadata.slots[:count].to(torch.int64)  # [N]
        rows = torch.arange(count, device=slots.device, dtype=torch.int64)
        last = accepted.to(torch.int64)

        move_intermediate_cache(ssm, stepwise, slots, rows, last)

        draft = stepwise.shape[2]
        # the window moves back to the last accepted token
        if slots.numel() > 0:
            conv_state_rollback(conv, slots, last, draft)
        return
