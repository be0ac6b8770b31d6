import torch


class AscendMambaAttnBackendBase:
    def _replay_metadata(self, bs, pool_rows, mode, spec, padded):
        slots = self.pool.slots(pool_rows)
        if mode.is_decode():
            self.starts[bs - 1].copy_(self.decode_starts[: bs + 1])
        elif mode.is_target_verify():
            # one slot for each draft token
            # Padded rows run too; without slots of their own they overwrite request 0's.
            rows = torch.arange(
                bs * spec.draft_token_num,
                dtype=torch.int32,
                device=slots.device,
            )
            self.state_indices_list_gdn[bs - 1].copy_(rows)
            if padded == 0:
                self.starts[bs - 1].copy_(self.verify_starts[: bs + 1])
        else:
            raise ValueError(mode)
        return Metadata(
            starts=self.starts[bs - 1],
            mamba_cache_indices_gdn=self.state_indices_list_gdn[bs - 1],
        )


class Metadata: ...
