"""Adding an entry to ``CHANGELOG.md``, because `rebase` moves pin, lock and changelog together."""

from __future__ import annotations

CHANGELOG = "CHANGELOG.md"
_HEAD = "# Changelog\n\n"
_UNRELEASED = "## [Unreleased]"
_CHANGED = "### Changed"


def add_entry(text: str, entry: str) -> str:
    """Add a line under Unreleased, Changed; the rest of the text stays as it is.

    Args:
        text: The changelog; may be empty.
        entry: One sentence.

    Returns:
        The new text.

    Source: keepachangelog.com, 1.1.0.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = (text or _HEAD).splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += newline
    start = next((i for i, line in enumerate(lines) if line.strip().lower() == _UNRELEASED.lower()), None)
    if start is None:
        start = next((i for i, line in enumerate(lines) if line.startswith("## ")), len(lines))
        lines[start:start] = [
            _UNRELEASED + newline,
            newline,
            _CHANGED + newline,
            newline,
            f"- {entry}{newline}",
            newline,
        ]
        return "".join(lines).rstrip("\r\n") + newline
    end = next((i for i in range(start + 1, len(lines)) if lines[i].startswith("## ")), len(lines))
    heading = next((i for i in range(start + 1, end) if lines[i].strip() == _CHANGED), None)
    if heading is None:
        at = start + 1
        while at < end and not lines[at].strip():
            at += 1
        lines[at:at] = [_CHANGED + newline, newline, f"- {entry}{newline}", newline]
        if at == start + 1:
            lines.insert(at, newline)
    else:
        at = heading + 1
        while at < end and not lines[at].startswith(("###", "## ")):
            at += 1
        while at > heading + 1 and not lines[at - 1].strip():
            at -= 1
        block = [f"- {entry}{newline}"]
        lines[at:at] = [newline, *block] if at == heading + 1 else block
    return "".join(lines).rstrip("\r\n") + newline
