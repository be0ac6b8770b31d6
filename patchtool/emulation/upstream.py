"""Access to a release by what it has: its modules, its members and the parameters they take; never by its version."""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROOT = "sglang.srt"
T = TypeVar("T")

_FUNCTION = "commit_mamba_states_after_verify"
_METHOD = "_mamba_verify_update"


class UnsupportedReleaseError(LookupError):
    """The release lacks what a test needs, so the test is skipped on it.

    Args:
        what: What is missing.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"this release is not supported: {what}")


def import_srt(name: str) -> Any:
    """Import ``sglang.srt.<name>``."""
    return import_module(f"{ROOT}.{name}")


def srt_member(name: str, member: str) -> Any:
    """Look up a member of ``sglang.srt.<name>``; None where this release has no such module or member."""
    full_name = f"{ROOT}.{name}"
    try:
        module = import_module(full_name)
    except ModuleNotFoundError as error:
        if error.name is not None and full_name.startswith(error.name):
            return None
        raise
    return getattr(module, member, None)


@cache
def parameters_of(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    """The parameters of a function or class."""
    return inspect.signature(function).parameters


def call_supported(function: Callable[..., T], /, **arguments: object) -> T:
    """Call a function with those of the arguments that its signature has."""
    parameters = parameters_of(function)
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return function(**arguments)
    return function(**{name: value for name, value in arguments.items() if name in parameters})


def commit_function() -> tuple[str, Callable[..., object]]:
    """Find what the release commits a verify step with: a function, or in earlier releases a method of the worker.

    Returns:
        Its name and itself.

    Raises:
        ImportError: A package that it imports is not installed.
        AttributeError: The release has neither.
    """
    if function := srt_member("speculative.spec_utils", _FUNCTION):
        return f"spec_utils.{_FUNCTION}", function
    worker = srt_member("speculative.eagle_worker_v2", "EAGLEWorkerV2")
    return f"EAGLEWorkerV2.{_METHOD}", getattr(worker, _METHOD)
