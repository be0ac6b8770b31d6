class ModelRunner:
    def _maybe_execute_deferred_mamba_cow_and_clear(self, forward_batch):
        if self.is_draft_worker or forward_batch.forward_mode.is_target_verify():
            return
        if forward_batch.mamba_clear_indices is not None:
            self.pool.clear_slots(forward_batch.mamba_clear_indices)
