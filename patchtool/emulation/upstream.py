"""Meeting a release as it is: call what it has, with the parameters it takes; never by its version number."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = "sglang.srt"
T = TypeVar("T")

_COMMIT = "commit_mamba_states_after_verify"
_COMMIT_OF_WORKER = "_mamba_verify_update"


class UnsupportedReleaseError(LookupError):
    """The release lacks what a test drives, so it cannot say anything of that release.

    Args:
        what: The sentence's rest: what is missing.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"this release cannot be driven: {what}")


def import_srt(name: str) -> Any:
    """Import ``sglang.srt.<name>``."""
    return import_module(f"{ROOT}.{name}")


def srt_member(name: str, member: str) -> Any:
    """A member of ``sglang.srt.<name>``, or None where this release has no such module or member."""
    full = f"{ROOT}.{name}"
    try:
        found = import_module(full)
    except ModuleNotFoundError as error:
        if error.name is not None and full.startswith(error.name):
            return None
        raise
    return getattr(found, member, None)


def call_supported(make: Callable[..., T], **offers: object) -> T:
    """Call with those of the offered arguments that the signature has."""
    parameters = inspect.signature(make).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return make(**offers)
    names = {parameter.name for parameter in parameters}
    return make(**{name: value for name, value in offers.items() if name in names})


def commit_function() -> tuple[str, Callable[..., object]]:
    """What the release commits a verify step with, and its name: a function, or before that a method of the worker.

    Raises:
        ImportError: What it needs is not installed.
        AttributeError: The release has neither.
    """
    function = srt_member("speculative.spec_utils", _COMMIT)
    if function is not None:
        return f"spec_utils.{_COMMIT}", function
    worker = srt_member("speculative.eagle_worker_v2", "EAGLEWorkerV2")
    return f"EAGLEWorkerV2.{_COMMIT_OF_WORKER}", getattr(worker, _COMMIT_OF_WORKER)
