"""What a behavioural test says: values that must be equal, an error that must not come, numbers worth reporting."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NUMBERS: dict[str, int | float | str] = {}
"""What the running test measured; the worker sends it along with the outcome."""

TOLERANCE = 1e-5


class MismatchError(AssertionError):
    """An asserted value is not what it must be: the only thing that makes a test red."""


def matrix_test(
    *,
    needs: tuple[str, ...] | None = None,
    mode: str = "",
    tiers: tuple[str, ...] = ("emulated",),
    gate: bool = False,
    drives: str = "backends",
) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Say of a test what planning has to know; planning reads it without importing the file.

    Args:
        needs: Patches without which the test is red; a guard, green with and without, needs none. By default the
            patch in whose folder the test stands.
        mode: ``eager`` or ``graph`` where the test is about one of them.
        tiers: Where it can run.
        gate: It tests the kernel references; nothing else counts on a release where it is not green.
        drives: ``backends`` alone, or the release's whole ``scheduler``, which takes seconds to start.
    """
    del needs, mode, tiers, gate, drives

    def same(test: Callable[[], None]) -> Callable[[], None]:
        return test

    return same


def record(**numbers: float | str) -> None:
    """Add numbers to the test's report."""
    NUMBERS.update(numbers)


def assert_equal(what: str, got: object, want: object) -> None:
    """Require exact equality.

    Raises:
        MismatchError: Shows both values.
    """
    if got != want:
        raise MismatchError(f"{what}: got {got}, want {want}")


def assert_close(what: str, got: torch.Tensor, want: torch.Tensor, tolerance: float = TOLERANCE) -> None:
    """Require two states to agree within a tolerance.

    Raises:
        MismatchError: Shows the largest difference and where it is.
    """
    assert_equal(f"shape of {what}", tuple(got.shape), tuple(want.shape))
    difference = (got.float() - want.float()).abs()
    if difference.numel() and not bool((difference <= tolerance).all()):
        worst = int(difference.nan_to_num(nan=float("inf")).argmax())
        where = tuple(int(axis) for axis in torch.unravel_index(torch.tensor(worst), got.shape))
        values = f"got {got.flatten()[worst].item():.6g}, want {want.flatten()[worst].item():.6g}"
        raise MismatchError(f"{what}: {values} at {where}, largest difference {difference.max().item():.3g}")


@contextmanager
def fails_on(kind: type[Exception], what: str) -> Iterator[None]:
    """Require that one kind of error does not come; any other passes through and makes the test an error, not red.

    Raises:
        MismatchError: The error came.
    """
    try:
        yield
    except kind as error:
        raise MismatchError(f"{what}: {type(error).__name__}: {error}") from error
