"""The files of a tree that have some words, each parsed once and only when it is needed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase

from patchtool.domain.ports import Tree
from patchtool.semantic.language.source import ParseError, Source


class ParsedFiles:
    """Files of a tree, looked up by words.

    Args:
        tree: The tree.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._paths: dict[str, list[str]] = {}
        self._data: dict[str, bytes] = {}
        self._sources: dict[str, Source | None] = {}
        self._replaced: Mapping[str, bytes | None] = {}
        self.unparsable: dict[str, str] = {}
        """Why a file that has the words could not be parsed, by path."""

    def replaced(self, contents: Mapping[str, bytes | None]) -> ParsedFiles:
        """The same files with some replaced, or deleted where there are no bytes; what is known of others is shared."""
        other = ParsedFiles(self._tree)
        other._paths, other._replaced = self._paths, contents
        other._data = {path: data for path, data in self._data.items() if path not in contents}
        other._sources = {path: source for path, source in self._sources.items() if path not in contents}
        return other

    def having(self, words: Collection[str], patterns: Collection[str] = ()) -> Iterator[Source]:
        """Yield the files that have all of some words, by path.

        Args:
            words: At least one.
            patterns: Shell patterns of paths; any file where there are none.
        """
        rarest = max(words, key=lambda word: (len(word), word))
        if rarest not in self._paths:
            self._paths[rarest] = self._tree.containing(rarest)
        for path in sorted({*self._paths[rarest], *(p for p in self._replaced if p.endswith(".py"))}):
            if patterns and not any(fnmatchcase(path, pattern) for pattern in patterns):
                continue
            data = self._read(path)
            source = self._parsed(path, data) if all(word.encode() in data for word in words) else None
            if source is not None:
                yield source

    def _read(self, path: str) -> bytes:
        if path not in self._data:
            found = self._replaced[path] if path in self._replaced else self._tree.read(path)
            self._data[path] = found or b""
        return self._data[path]

    def _parsed(self, path: str, data: bytes) -> Source | None:
        if path not in self._sources:
            try:
                self._sources[path] = Source.parse(path, data)
            except ParseError as error:
                self._sources[path] = None
                self.unparsable[path] = str(error)
        return self._sources[path]
