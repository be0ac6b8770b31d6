class MambaAttnBackendBase:
    def _execute_deferred_mamba_cow_and_clear(self, batch):
        if batch.forward_mode == ForwardMode.TARGET_VERIFY or self.is_draft_worker:
            return
        if batch.forward_mode.is_extend() and batch.mamba_clear_indices is not None:
            self.pool.clear_slots(batch.mamba_clear_indices)
