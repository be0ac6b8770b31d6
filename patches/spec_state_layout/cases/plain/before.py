class AscendGDNAttnBackend:
    def forward_extend(self, layer, forward_batch: ForwardBatch, mixed_qkv, a, b):
        cache = self.pool.layer_cache(layer.layer_id)
        states = cache.temporal
        slots = self.forward_metadata.mamba_cache_indices
        if forward_batch.forward_mode.is_target_verify():
            out = self.verify(mixed_qkv, states, slots)
        else:
            # the chunks of the prompt
            g, beta = gating(a, b)
            out, last, h = self.kernel_dispatcher.extend(
                qkv=mixed_qkv,
                g=g,
                beta=beta,
                ssm_states=states,
                cache_indices=slots,
            )
            if last is not None:
                last = last.to(states.dtype, copy=False)
                states[slots] = last
            if not forward_batch.spec_algorithm.is_none():
                last = last.transpose(-1, -2).to(states.dtype, copy=False)
            else:
                last = last.to(states.dtype, copy=False)
            states[slots] = last
            if h is not None:
                self._track_mamba_state_extend(forward_batch, h, states, self.forward_metadata)
        return out
