import torch as th


class AscendMambaAttnBackendBase:
    def _replay_metadata(self, bs, pool_rows, mode, spec, padded, in_capture=False):
        slots = self.pool.slots(pool_rows)
        if mode.is_target_verify():
            draft = spec.draft_token_num
            self.state_indices_list_gdn[bs - 1].copy_(
                th.arange(bs * draft, dtype=th.int32, device=slots.device)
            )
        return Metadata(mamba_cache_indices_gdn=self.state_indices_list_gdn[bs - 1])


class Metadata: ...
