class MambaAttnBackendBase:
    def _execute_deferred_mamba_cow_and_clear(self, forward_batch):
        """Clear and copy on the forward stream."""
        # only a prompt defers work
        if not forward_batch.forward_mode.is_extend() or self.is_draft_worker:
            return
        if forward_batch.mamba_clear_indices is not None:
            self.pool.clear_slots(forward_batch.mamba_clear_indices)
        forward_batch.mamba_clear_indices = None
