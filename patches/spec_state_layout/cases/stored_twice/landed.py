class AscendGDNAttnBackend:
    def forward_extend(self, layer, forward_batch: ForwardBatch, mixed_qkv, a, b):
        states = self.pool.layer_cache(layer.layer_id).temporal
        slots = self.forward_metadata.mamba_cache_indices
        g, beta = gating(a, b)
        out, last, h = self.kernel_dispatcher.extend(
            qkv=mixed_qkv, g=g, beta=beta, ssm_states=states, cache_indices=slots
        )
        if last is not None:
            last = last.to(states.dtype, copy=False)
            states[slots] = last
        last = last.to(states.dtype, copy=False)
        states[slots] = last
        if h is not None:
            self._track_mamba_state_extend(forward_batch, h, states, self.forward_metadata)
        return out
