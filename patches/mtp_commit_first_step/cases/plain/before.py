import torch
from sgl_kernel_npu.mamba import move_intermediate_cache


class AscendHybridLinearAttnBackend:
    def update_mamba_state_after_mtp_verify(self, accepted, mamba_track_indices):
        caches = self.linear.pool.caches()
        slots = self.linear.metadata.slots.to(torch.int64)
        rows = torch.arange(len(slots), dtype=torch.int64)
        last = accepted.to(torch.int64)
        skip = (last == 0).all().item()
        if not skip:
            move_intermediate_cache(caches.temporal, caches.intermediate_ssm, slots, rows, last)
        return
