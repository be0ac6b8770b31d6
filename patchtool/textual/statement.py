"""Merge three versions of one statement token by token, brackets as lists of elements."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from patchtool.textual.diff import matches, stretches
from patchtool.textual.tokens import Bracket, Element, Node, NoMerge, Parser, Token, comments, key_of, rendered

if TYPE_CHECKING:
    from collections.abc import Sequence


def merge_text(base: str, patched: str, target: str, *, unordered: bool = False) -> str:
    """Make the patch's edits of one statement on another version of it.

    Args:
        base: The statement or header that the patch was made for, not indented.
        patched: With the patch.
        target: The other version.
        unordered: The order of the elements does not matter, as in an import.

    Returns:
        The target's text with the edits.

    Raises:
        NoMerge: If both changed the same place, or what stands around an edit is gone.
    """
    parsers = [Parser(text) for text in (base, patched, target)]
    merged = _nodes(*(parser.nodes() for parser in parsers), unordered=unordered)
    text = rendered(merged) + parsers[2].rest
    if (comments(patched) - comments(base)) - (comments(text) - comments(target)):
        raise NoMerge("the patch adds a comment in a statement that upstream changed")
    return text


def _nodes(base: Sequence[Node], patched: Sequence[Node], target: Sequence[Node], *, unordered: bool) -> list[Node]:
    if key_of(patched) in {key_of(base), key_of(target)}:
        return list(target)
    to_patched, to_target = _aligned(base, patched), _aligned(base, target)
    out: list[Node] = []
    for s in stretches(to_patched, to_target, (len(base), len(patched), len(target))):
        old, ours, theirs = base[s.o0 : s.o1], patched[s.p0 : s.p1], target[s.n0 : s.n1]
        if key_of(old) == key_of(theirs):
            out += ours if key_of(old) != key_of(ours) else theirs
        elif key_of(ours) in {key_of(old), key_of(theirs)}:
            out += theirs
        else:
            raise NoMerge(f"the patch has `{key_of(ours)[:50]}` where upstream has `{key_of(theirs)[:50]}`")
        if s.o1 < len(base):
            out.append(_node(base[s.o1], patched[s.p1], target[s.n1], unordered=unordered))
    return out


def _node(base: Node, patched: Node, target: Node, *, unordered: bool) -> Node:
    if patched.key in {base.key, target.key}:
        return target
    if isinstance(base, Bracket) and isinstance(patched, Bracket) and isinstance(target, Bracket):
        return _bracket(base, patched, target, unordered=unordered)
    raise NoMerge(f"both change `{base.key[:50]}`")


def _aligned(old: Sequence[Node], new: Sequence[Node]) -> dict[int, int]:
    """Pair equal nodes, and brackets that stand in the same place."""
    pairs = dict(matches([node.key for node in old], [node.key for node in new]))
    corners = [(-1, -1), *sorted(pairs.items()), (len(old), len(new))]
    for (i0, j0), (i1, j1) in pairwise(corners):
        ours = [i for i in range(i0 + 1, i1) if isinstance(old[i], Bracket)]
        theirs = [j for j in range(j0 + 1, j1) if isinstance(new[j], Bracket)]
        kinds = [_opening(old[i]) for i in ours], [_opening(new[j]) for j in theirs]
        if kinds[0] == kinds[1]:
            pairs.update(zip(ours, theirs))
        elif ours and theirs and i0 >= 0 and ours[0] == i0 + 1 and theirs[0] == j0 + 1 and kinds[0][0] == kinds[1][0]:
            pairs[ours[0]] = theirs[0]
    return pairs


def _opening(node: Node) -> str:
    return node.opening if isinstance(node, Bracket) else ""


def _bracket(base: Bracket, patched: Bracket, target: Bracket, *, unordered: bool) -> Bracket:
    merged = _elements(base.elements, patched.elements, target.elements, unordered=unordered)
    names = [name for element in merged if (name := element_name(element)) and not unordered]
    if len(names) != len(set(names)):
        raise NoMerge("an argument or a key would be there twice")
    trailing = len(target.commas) >= len(target.elements) > 0
    if not target.elements or (len(merged) == 1 and target.opening == "("):
        trailing = len(patched.commas) >= len(patched.elements) > 0
    commas = list(target.commas[: len(merged)])
    commas += [""] * (len(merged) - len(commas))
    return replace(target, elements=tuple(merged), commas=tuple(commas if trailing else commas[: len(merged) - 1]))


def element_name(element: Element) -> str:
    """Tell the name of a keyword argument, a parameter or a key; empty for a positional element."""
    if len(element) >= 2 and isinstance(element[1], Token) and element[1].text in {"=", ":"}:
        return element[0].key
    return "**" + element[1].key if len(element) == 2 and element[0].key == "**" else ""


def _elements(
    base: Sequence[Element], patched: Sequence[Element], target: Sequence[Element], *, unordered: bool
) -> list[Element]:
    if base and all(map(_is_number, base)):
        keys = [[key_of(e) for e in side] for side in (base, patched, target)]
        if keys[0] != keys[2] and keys[1] not in (keys[0], keys[2]):
            raise NoMerge(f"both change `{', '.join(keys[0])[:60]}`, whose numbers may belong together")
    to_patched, to_target = _aligned_elements(base, patched), _aligned_elements(base, target)
    out: list[Element] = []
    for s in stretches(to_patched, to_target, (len(base), len(patched), len(target))):
        old, ours, theirs = base[s.o0 : s.o1], patched[s.p0 : s.p1], target[s.n0 : s.n1]
        keys = [[key_of(e) for e in side] for side in (old, ours, theirs)]
        if keys[1] in (keys[0], keys[2]):
            out += theirs
        elif keys[0] == keys[2]:
            out += _styled(ours, target)
        elif not old and (unordered or all(element_name(e) for e in [*ours, *theirs])):
            out += theirs
            out += _styled([e for e in ours if key_of(e) not in keys[2]], target)
        else:
            raise NoMerge(f"both change `{', '.join(keys[0] or keys[1])[:60]}`")
        if s.o1 < len(base):
            out.append(tuple(_nodes(base[s.o1], patched[s.p1], target[s.n1], unordered=unordered)))
    return out


def _is_number(element: Element) -> bool:
    return len(element) == 1 and isinstance(element[0], Token) and element[0].text[0].isdigit()


def _aligned_elements(old: Sequence[Element], new: Sequence[Element]) -> dict[int, int]:
    """Pair equal elements; between them those of one name; and where as many are left on both sides, each in turn."""
    pairs = dict(matches([key_of(e) for e in old], [key_of(e) for e in new]))
    corners = [(-1, -1), *sorted(pairs.items()), (len(old), len(new))]
    for (i0, j0), (i1, j1) in pairwise(corners):
        ours, theirs = range(i0 + 1, i1), range(j0 + 1, j1)
        names = [element_name(old[i]) for i in ours], [element_name(new[j]) for j in theirs]
        if len(ours) == len(theirs) and names[0] == names[1]:
            pairs.update(zip(ours, theirs))
        else:
            named = matches(
                [name or ("old", i) for i, name in enumerate(names[0])],
                [name or ("new", j) for j, name in enumerate(names[1])],
            )
            pairs.update((ours[i], theirs[j]) for i, j in named)
    return pairs


def _styled(elements: Sequence[Element], target: Sequence[Element]) -> list[Element]:
    """Give elements the white space that the target's have."""
    spaces = {e[0].pre for e in target[1:]}
    if len(spaces) != 1:
        return list(elements)
    pre = spaces.pop()
    return [(replace(e[0], pre=pre), *e[1:]) for e in elements]
