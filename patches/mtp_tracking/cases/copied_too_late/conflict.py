import torch
from sgl_kernel_npu.mamba import conv_state_rollback, move_intermediate_cache


class AscendHybridLinearAttnBackend:
    def update_mamba_state_after_mtp_verify(
        self, accepted, mamba_track_indices, mamba_steps_to_track
    ):
        caches = self.linear.pool.caches()
        conv = caches.conv[0]
        ssm = caches.temporal
        stepwise = caches.intermediate_ssm
        slots = self.linear.metadata.slots.to(torch.int64)
        rows = torch.arange(len(slots), dtype=torch.int64)
        last = accepted.to(torch.int64)
        draft = stepwise.shape[2]
        move_intermediate_cache(ssm, stepwise, slots, rows, last)
        conv_state_rollback(conv, slots, last, draft)
        if mamba_track_indices is not None:
            to = mamba_track_indices.long()
            steps = mamba_steps_to_track.long()
            move_intermediate_cache(ssm, stepwise, to, rows, steps)
            tracked = steps >= 0
            conv[:, to[tracked]] = conv[:, slots[tracked]]
            conv_state_rollback(conv, to, steps, draft)
