"""``patchtool.toml``: what the project says of its upstream that the pin does not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from patchtool.domain.errors import InputError
from patchtool.domain.pin import GitSource, parse_git_reference
from patchtool.domain.toml_text import invalid, parse_toml

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = "patchtool.toml"
_EXAMPLE = """\
[upstream]
distribution = "my-package"  # its name on the index
package = "my_package"       # what Python imports
layout = "src"               # the folder of the repository that has the package
git = "https://HOST/OWNER/my-package"
"""
_KEYS = ("distribution", "package", "layout", "git")
_DISTRIBUTION = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_FOLDERS = re.compile(r"(?!\.{1,2}(/|$))[^/\\\0-\x1f]+(/(?!\.{1,2}(/|$))[^/\\\0-\x1f]+)*")


class Upstream(NamedTuple):
    """The table ``[upstream]``; what it leaves out is None.

    Args:
        distribution: The name on the index.
        package: The import name.
        layout: The folder of the repository that has the package, without slashes around it; empty for its root.
        git: The repository.
    """

    distribution: str | None = None
    package: str | None = None
    layout: str | None = None
    git: GitSource | None = None


def read_settings(path: Path) -> Upstream:
    """Read the settings of a project; a file that does not exist says nothing.

    Raises:
        InputError: Malformed, or a key is unknown; names the line.
    """
    if not path.exists():
        return Upstream()
    data, where = path.read_bytes(), str(path)

    def wrong(keys: tuple[str, ...], rule: str) -> InputError:
        return invalid(data, where, keys, rule, f"it looks like\n{_EXAMPLE}")

    document = parse_toml(data, where)
    table = document.get("upstream", {})
    if unknown := next((key for key in document if key != "upstream"), None):
        raise wrong((unknown,), f"unknown key {unknown!r}")
    if not isinstance(table, dict):
        raise wrong(("upstream",), "upstream must be a table")
    if unknown := next((key for key in table if key not in _KEYS), None):
        raise wrong(("upstream", unknown), f"unknown key {unknown!r}")
    if not_text := next((key for key in table if not isinstance(table[key], str)), None):
        raise wrong(("upstream", not_text), f"{not_text} must be a string")
    layout = table.get("layout")
    checks = {
        "distribution": (_DISTRIBUTION.fullmatch(table.get("distribution", "x")), "is not the name of a distribution"),
        "package": (table.get("package", "x").isidentifier(), "is not the name of a top-level package"),
        "layout": (
            layout in (None, "", ".") or _FOLDERS.fullmatch(layout.strip("/")),
            "is not a folder in the repository",
        ),
    }
    for key, (is_right, rule) in checks.items():
        if not is_right:
            raise wrong(("upstream", key), f"{table[key]!r} {rule}")
    url = table.get("git", "")
    return Upstream(
        table.get("distribution"),
        table.get("package"),
        None if layout is None else "" if layout == "." else layout.strip("/"),
        parse_git_reference(f"git+{url.removeprefix('git+')}")[0] if url else None,
    )
