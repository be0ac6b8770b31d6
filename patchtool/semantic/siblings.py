"""The candidates of all patches on one tree, and which of them the series itself takes away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from patchtool.domain.errors import PatchtoolError
from patchtool.domain.patch import PatchInfo
from patchtool.domain.ports import Tree
from patchtool.domain.sibling_sites import Siblings, SiblingSite
from patchtool.semantic.author_code import CodemodEnded
from patchtool.semantic.judging.parsed_files import ParsedFiles
from patchtool.semantic.judging.siblings import Found, Search, searches
from patchtool.semantic.language.depth import with_stack_for_depth
from patchtool.semantic.load import load_codemod
from patchtool.semantic.vocabulary.siblings import read_siblings


def siblings(patches: Sequence[PatchInfo], tree: Tree, contents: Mapping[str, bytes | None]) -> Siblings:
    """Search a tree for code that looks like the defects of patches.

    Args:
        patches: The patches.
        tree: The tree, as upstream has it.
        contents: What the series changes in it, by path.

    Raises:
        InputError: A patch's file of siblings is not valid.
    """
    wanted: list[tuple[str, list[Search]]] = []
    problems: list[str] = []
    for info in patches:
        try:
            own = searches(load_codemod(info.source_file), read_siblings(Path(info.source_file).parent))
            wanted.append((info.name, own))
            problems += [] if own else [f"{info.name} was not looked for: it does not show what its defect looks like"]
        except PatchtoolError:  # noqa: PERF203 -- a few patches
            raise
        except (CodemodEnded, Exception) as error:  # noqa: BLE001 -- a codemod is user code
            problems.append(f"{info.name} was not looked for: {type(error).__name__}: {error}")

    def search() -> Siblings:
        files = ParsedFiles(tree)
        before = _sites(wanted, files)
        patched = files.replaced(contents)
        left = (
            Counter(site.identity for site in _sites(wanted, patched))
            if contents
            else Counter(s.identity for s in before)
        )
        sites = []
        for site in reversed(before):  # of equal ones, the series takes the first away
            fixed = not left[site.identity]
            left[site.identity] -= not fixed
            sites.append(site._replace(fixed=fixed))
        unread = [f"not searched: {reason}" for _, reason in sorted(files.unparsable.items())]
        return Siblings(tuple(reversed(sites)), (*problems, *unread))

    return with_stack_for_depth(search)


def _sites(wanted: Sequence[tuple[str, Sequence[Search]]], files: ParsedFiles) -> list[SiblingSite]:
    """The sites by patch, path and line; a line counts once for each patch, by its first likeness."""
    found: list[SiblingSite] = []
    for name, own in wanted:
        places: dict[tuple[str, int], SiblingSite] = {}
        for likeness, each in _found(own, files):
            code = each.source.slice(each.line - 1, each.line).strip()
            site = SiblingSite(name, likeness, each.source.path, each.line, each.symbol, code)
            places.setdefault((site.path, site.line), site)
        found += (places[place] for place in sorted(places))
    return found


def _found(own: Sequence[Search], files: ParsedFiles) -> Iterator[tuple[str, Found]]:
    for search in own:
        for each in search.run(files):
            yield search.likeness, each
