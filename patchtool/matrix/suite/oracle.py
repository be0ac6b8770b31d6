"""What the fixes must leave in the pools, worked out with NumPy from the contracts of the kernels alone.

It shares no code with the emulation, so an error in a reference kernel cannot hide one in a patch. Arrays are
views of the pools' memory: ``blocks`` reads a state as the kernels address it, whatever view upstream holds.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array: TypeAlias = np.ndarray[Any, Any]


def blocks(pool: Array, lead: int) -> Array:
    """View a pool as rows of memory.

    Args:
        pool: ``[…, H, V, K]`` in any view whose states are blocks of memory.
        lead: Number of axes before those of a state.

    Returns:
        ``[…, H * V * K]``.
    """
    size = prod(pool.shape[lead:])
    strides = (*pool.strides[:lead], pool.itemsize)
    return np.lib.stride_tricks.as_strided(pool, (*pool.shape[:lead], size), strides)


def stored_by_verify(slots: Sequence[int], rows: Sequence[Array], intermediate: Array) -> Array:
    """Return the intermediates after a verify step whose rows run one after another, padded ones last.

    Args:
        slots: For every step of every row, where its state is stored.
        rows: The states of each row, ``[L, D, state]``.
        intermediate: ``[L, S, D, state]`` before.
    """
    layers, _, drafts, size = intermediate.shape
    flat = intermediate.reshape(layers, -1, size).copy()
    for row, states in enumerate(rows):
        for step in range(drafts):
            flat[:, slots[row * drafts + step]] = states[:, step]
    stored: Array = flat.reshape(intermediate.shape)
    return stored


def committed(
    ssm: Array,
    conv: Array,
    intermediate: Array,
    own: Sequence[int],
    last: Sequence[int],
    tracked: Sequence[int],
    steps: Sequence[int],
) -> tuple[Array, Array]:
    """Return both pools after a verify step is committed.

    Args:
        ssm: ``[L, P, state]``.
        conv: ``[L, P, W, channels]``, whose windows of the own slots end with the drafts.
        intermediate: ``[L, S, D, state]``, by batch row.
        own: Slot of each request.
        last: Last accepted step of each request.
        tracked: Slot of each request that the prefix cache keeps.
        steps: Step that it must hold, -1 for none.
    """
    new_ssm, new_conv, drafts = ssm.copy(), conv.copy(), intermediate.shape[2]
    for row, (slot, step) in enumerate(zip(own, last, strict=True)):
        for target, at in ((slot, step), (tracked[row], steps[row])):
            if at >= 0:
                new_ssm[:, target] = intermediate[:, row, at]
                new_conv[:, target] = _without_rejected(conv[:, slot], drafts - 1 - at)
    return new_ssm, new_conv


def _without_rejected(window: Array, rejected: int) -> Array:
    """A window ``[L, W, channels]`` whose last tokens are gone; what they leave free in front keeps its values."""
    kept = window.shape[1] - rejected
    return np.concatenate([window[:, :rejected], window[:, :kept]], axis=1)


def window_at(inputs: Array, length: int, width: int) -> Array:
    """The convolution window after so many of a prompt's tokens; ``inputs`` is ``[L, T, channels]``."""
    return inputs[:, length - width : length]
