"""What behavioural tests import: the decorator for planning, assertions, and a record of measured numbers."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

NUMBERS: dict[str, int | float | str] = {}
"""What the running test recorded; reported with its outcome."""

TOLERANCE = 1e-5


class MismatchError(AssertionError):
    """An assertion does not hold. The only exception that fails a test; any other is an error."""


def matrix_test(
    *,
    needs: tuple[str, ...] | None = None,
    mode: str = "",
    tiers: tuple[str, ...] = ("emulated",),
    gate: bool = False,
    drives: str = "backends",
) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Declare what planning must know of a test. Planning reads the literals without importing the file.

    Args:
        needs: Patches without which the test fails; empty for a guard, which passes with and without patches. The
            default is the patch in whose folder the test is.
        mode: ``eager`` or ``graph`` where the test covers one of them only.
        tiers: Where it can run.
        gate: It tests the reference kernels; on a release where it fails no other result counts.
        drives: ``backends``, or the release's whole ``scheduler``, which takes seconds to start.
    """
    del needs, mode, tiers, gate, drives
    return lambda test: test


def record(**numbers: float | str) -> None:
    """Add numbers to the test's report."""
    NUMBERS.update(numbers)


def assert_equal(what: str, got: object, want: object) -> None:
    """Require exact equality.

    Raises:
        MismatchError: With both values.
    """
    if got != want:
        raise MismatchError(f"{what}: got {got}, want {want}")


def assert_close(what: str, got: torch.Tensor, want: torch.Tensor, tolerance: float = TOLERANCE) -> None:
    """Require two tensors of equal shape to agree within an absolute tolerance.

    Raises:
        MismatchError: With the largest difference and its index.
    """
    assert_equal(f"shape of {what}", tuple(got.shape), tuple(want.shape))
    difference = (got.float() - want.float()).abs()
    if difference.numel() and not bool((difference <= tolerance).all()):
        worst = int(difference.nan_to_num(nan=float("inf")).argmax())
        index = tuple(int(axis) for axis in torch.unravel_index(torch.tensor(worst), got.shape))
        values = f"got {got.flatten()[worst].item():.6g}, want {want.flatten()[worst].item():.6g}"
        raise MismatchError(f"{what}: {values} at {index}, largest difference {difference.max().item():.3g}")


def assert_same_tokens(request: int | str, got: Sequence[int], want: Sequence[int]) -> None:
    """Require the decoded tokens of a request to equal the expected ones; record where they diverge.

    Raises:
        MismatchError: With the first token that differs.
    """
    first = next((n for n, pair in enumerate(zip(got, want, strict=True)) if pair[0] != pair[1]), None)
    if first is not None:
        record(first_divergence=first, diverging_request=request)
        raise MismatchError(f"request {request!r} differs at token {first}: got {got[first]}, want {want[first]}")


@contextmanager
def fails_on(kind: type[Exception], what: str) -> Iterator[None]:
    """Turn one kind of exception into a failure; any other stays an error.

    Raises:
        MismatchError: The exception was raised.
    """
    try:
        yield
    except kind as error:
        raise MismatchError(f"{what}: {type(error).__name__}: {error}") from error
