class MambaAttnBackendBase:
    def _execute_deferred_mamba_cow_and_clear(self, forward_batch):
        if not forward_batch.forward_mode.is_extend() or self.is_draft_worker:
            return
        if forward_batch.mamba_clear_indices is not None:
            self.pool.clear_slots(forward_batch.mamba_clear_indices)
        if forward_batch.forward_mode.is_target_verify():
            return
        self.pool.copy_from(forward_batch.mamba_cow_src_indices, forward_batch.mamba_cow_dst_indices)
