"""Red before, green after: the proof of every patch as a table, neighbouring releases that say the same on one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from patchtool.cli.page.document import text
from patchtool.cli.page.results import ShownProof, named

_MARKS = {"agrees": ("\u2713", "agrees"), "disputes": ("!", "disputed"), "none": ("?", "not proven")}


def proofs(found: Sequence[ShownProof]) -> str:
    """The rows of the table; empty where nothing was to be proven."""
    return "\n".join(_row(span, first) for span, first in _marked(spans(found)))


def spans(found: Iterable[ShownProof]) -> list[list[ShownProof]]:
    """Proofs by patch in the order of the series, and by release; neighbours that say the same together."""
    by_patch: dict[str, list[ShownProof]] = {}
    for each in found:
        by_patch.setdefault(each.patch, []).append(each)
    runs: list[list[ShownProof]] = []
    for patch in by_patch.values():
        before: tuple[object, ...] | None = None
        for each in sorted(patch, key=lambda proof: proof.release):
            says = (each.structural, each.pristine, each.patched, each.verdict)
            if says == before:
                runs[-1].append(each)
            else:
                runs.append([each])
            before = says
    return runs


def _marked(runs: Iterable[list[ShownProof]]) -> Iterable[tuple[list[ShownProof], bool]]:
    patch = None
    for run in runs:
        yield run, run[0].patch != patch
        patch = run[0].patch


def _row(span: Sequence[ShownProof], first: bool) -> str:
    proof = span[0]
    mark, word = _MARKS.get(proof.verdict, ("?", proof.verdict))
    kind = proof.verdict if proof.verdict in _MARKS else "none"
    name = f"<code>{text(proof.patch)}</code>" if first else f'<span class="vh">{text(proof.patch)}</span>'
    return (
        f'<tr class="v-{kind}{" first" if first else ""}"><th scope="row">{name}</th>'
        f'<td class="at">{text(named([each.release for each in span]))}</td><td>{text(proof.structural)}</td>'
        f'<td class="flow">{_bulb(proof.pristine)}<span aria-hidden="true" class="arrow">\u2192</span>'
        f'{_after(proof)}</td><td class="said"><b aria-hidden="true">{mark}</b> {text(word)}</td>'
        f'<td class="because">{_because(proof)}</td></tr>'
    )


def _bulb(colour: str | None) -> str:
    kind = colour if colour in ("red", "green") else "dark"
    return f'<span class="bulb b-{kind}">{text(colour or "not known")}</span>'


def _after(proof: ShownProof) -> str:
    if proof.patched is None and proof.structural == "landed":
        return '<span class="bulb b-dark">nothing to apply</span>'
    return _bulb(proof.patched)


def _because(proof: ShownProof) -> str:
    test, _, words = proof.detail.partition(": ")
    if "::" not in test:
        landed = "upstream has it, and its tests are green on the unmodified release"
        return text(proof.detail or (landed if proof.verdict == "agrees" else ""))
    colour = "red" if "red" in (proof.pristine, proof.patched) else "open"
    function = test.partition("::")[2].removeprefix("test_").replace("_", " ")
    return f"<b>{colour}: {text(function)}</b> <span>{text(words)}</span>"
