"""Copying slots of a KV cache by address, in buffers of different widths."""

from __future__ import annotations

from ctypes import memmove, string_at

from torch import Tensor


class TiledCopy:
    """``copy_all_layer_kv_cache_tiled[grid](…)``: the grid is buffers by tiles, and bytes behind the tiles stay.

    Args:
        grid: Buffers and tiles.
    """

    def __init__(self, grid: tuple[int, int] = (0, 0)) -> None:
        self._buffers, self._tiles = grid

    def __getitem__(self, grid: tuple[int, int]) -> TiledCopy:
        return TiledCopy(grid)

    def __call__(
        self,
        data_ptrs: Tensor,
        strides: Tensor,
        tgt_loc: Tensor,
        src_loc: Tensor,
        num_locs: int,
        num_locs_upper: int,
        *,
        BYTES_PER_TILE: int,
        num_warps: int,
        num_stages: int,
    ) -> None:
        """Copy slots in place, all at once: a slot that is both source and target is read first.

        Args:
            data_ptrs: ``[buffers]`` addresses.
            strides: ``[buffers]`` bytes of a slot.
            tgt_loc: ``[N]``.
            src_loc: ``[N]``.
            num_locs: How many of them.
            num_locs_upper: A tuning parameter of the device kernel; must be at least ``num_locs``.
            BYTES_PER_TILE: Bytes of a slot that one program of the grid copies.
            num_warps: A tuning parameter of the device kernel.
            num_stages: A tuning parameter of the device kernel.
        """
        del num_warps, num_stages
        count = min(num_locs, num_locs_upper)
        buffers = zip(data_ptrs.tolist()[: self._buffers], strides.tolist()[: self._buffers], strict=True)
        for base, stride in buffers:
            width = min(stride, self._tiles * BYTES_PER_TILE)
            slots = [string_at(base + slot * stride, width) for slot in src_loc.tolist()[:count]]
            for slot, content in zip(tgt_loc.tolist()[:count], slots, strict=True):
                memmove(base + slot * stride, content, width)
