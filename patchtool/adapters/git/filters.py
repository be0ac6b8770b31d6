"""Filters of a foreign checkout: what its own configuration names is a program of whoever made it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_FOREIGN = ("local", "worktree")


def without_foreign_filters(settings: bytes, environment: Mapping[str, str]) -> dict[str, str]:
    r"""Restore the filters to what the user's and the system's configuration says.

    Args:
        settings: Output of ``git config -z --show-scope --get-regexp '^filter\.'``: scope, then key and value.
        environment: Of git.

    Returns:
        The environment with a setting for each key that the repository sets: the user's own value, or none, by which
        git stores and checks out the bytes as they are.

    Source: git-config, ``GIT_CONFIG_COUNT``; ``-c`` could not name a filter with ``=`` in its name.
    """
    words = os.fsdecode(settings).split("\0")
    own: dict[str, str] = {}
    foreign: set[str] = set()
    for scope, setting in zip(words[::2], words[1::2]):
        key, _, value = setting.partition("\n")
        if scope in _FOREIGN:
            foreign.add(key)
        else:
            own[key] = value
    count = int(environment.get("GIT_CONFIG_COUNT") or 0)
    restored = dict(environment)
    for number, key in enumerate(sorted(foreign), start=count):
        unset = "false" if key.endswith(".required") else ""
        restored |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": own.get(key, unset)}
    return restored | {"GIT_CONFIG_COUNT": str(count + len(foreign))}
