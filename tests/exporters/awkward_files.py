"""A series of two patches that does to files what a format may not survive."""

ROOT = "python/sglang/"
PLAIN = b"".join(b"line %d\n" % number for number in range(40))
EDITED = PLAIN.replace(b"line 20\n", b"line twenty\n")
DIFF_LIKE = EDITED.replace(b"line 21\n", b"-- \n--- a/x\n+++ b/x\nFrom 0000000 Mon Sep 17 00:00:00 2001\n")
CHANGES: dict[str, tuple[bytes | None, bytes | None]] = {
    "with space/a b.py": (b"a\nb\n", b"a\nc\n"),
    "ünï/çode 文.py": (b"a\nb\n", "ä\n文\n".encode()),
    "form_feed.py": (b"a\x0c\nb\n", b"a\x0c\nc\n"),
    "crlf.py": (b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nc\r\n"),
    "mixed_ends.py": (b"a\r\nb\nc\rd\n", b"a\r\nB\nc\rD\n"),
    "to_crlf.py": (b"a\nb\n", b"a\r\nb\r\n"),
    "latin1.py": (b"# caf\xe9\na\n", b"# caf\xe9\nb\xe9\n"),
    "no_final_newline.py": (b"a\nb", b"a\nc"),
    "final_newline_removed.py": (b"a\nb\n", b"a\nb"),
    "final_newline_added.py": (b"a\nb", b"a\nb\n"),
    "new/file.py": (None, b"x = 1\n"),
    "new/no_final_newline.py": (None, b"x = 1"),
    "deleted.py": (b"x = 1\ny = 2\n", None),
    "trailing_space.py": (b"a  \n\t\nb\n", b"a  \n\t \nc  \n"),
    "renamed/old.py": (DIFF_LIKE, None),
    "renamed/new.py": (None, DIFF_LIKE),
}
_ALWAYS = {f"{ROOT}__init__.py": b""}


def _tree(index: int, plain: bytes) -> dict[str, bytes]:
    files = {f"{ROOT}{name}": both[index] for name, both in CHANGES.items()}
    return _ALWAYS | {f"{ROOT}plain.py": plain} | {path: data for path, data in files.items() if data is not None}


STATES = [_tree(0, PLAIN), _tree(1, EDITED), _tree(1, DIFF_LIKE)]
"""The release, and the tree after each patch; both patches edit ``plain.py``."""
EMPTY = [
    _ALWAYS | {f"{ROOT}emptied.py": b"a\n", f"{ROOT}a.py": b"a"},
    _ALWAYS | {f"{ROOT}emptied.py": b"", f"{ROOT}new/empty.py": b"", f"{ROOT}a.py": b"b"},
]
DELETED_EMPTY = [_ALWAYS | {f"{ROOT}empty.py": b"", f"{ROOT}a.py": b"a"}, _ALWAYS | {f"{ROOT}a.py": b"a"}]
QUOTED = [_ALWAYS | {f"{ROOT}quote'\"d.py": b"a\n"}, _ALWAYS | {f"{ROOT}quote'\"d.py": b"b\n"}]
BINARY = [_ALWAYS, _ALWAYS | {f"{ROOT}table.py": bytes(range(256))}]
NAMES = {"line feed": "a\nb.py", "backslash": "a\\b.py", "not UTF-8": "a\udcff.py", "last space": "a "}
"""Names that git quotes, and that not every format can have."""
NAMED = {
    kind: [_ALWAYS | {f"{ROOT}{name}": b"a\n"}, _ALWAYS | {f"{ROOT}{name}": b"b\n", f"{ROOT}new {name}": b"c\n"}]
    for kind, name in NAMES.items()
}
ONLY_DELETED = [_ALWAYS | {f"{ROOT}old.py": b"a\n"}, _ALWAYS]
FOLDER_FOR_FILE = [_ALWAYS | {f"{ROOT}codec": b"a\n"}, _ALWAYS | {f"{ROOT}codec/__init__.py": b"b\n"}]
ONE_LINE = [{f"{ROOT}a.py": b"a\n"}, {f"{ROOT}a.py": b"b\n"}]
