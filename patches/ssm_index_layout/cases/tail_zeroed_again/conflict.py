import torch


class AscendMambaAttnBackendBase:
    def _replay_metadata(self, bs, pool_rows, mode, spec, padded):
        slots = self.pool.slots(pool_rows)
        if mode.is_target_verify():
            rows = torch.arange(bs * spec.draft_token_num, dtype=torch.int32, device=slots.device)
            self.state_indices_list_gdn[bs - 1].copy_(rows)
            self.state_indices_list_gdn[bs - 1][(bs - padded) * spec.draft_token_num :].fill_(0)
