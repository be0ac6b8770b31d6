"""The plan of a run of the matrix for the terminal: what is missing first, then every command."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from patchtool.cli.reports.text import aligned
from patchtool.cli.reports.words import counted, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchtool.domain import documents

_HOUR = 60


def plan_text(plan: documents.TestPlan) -> str:
    """Format a plan.

    Args:
        plan: The ``plan`` of the document of ``test --plan``.
    """
    cells = ", ".join(f"{counted(number, 'cell')} of the {tier} tier" for tier, number in plan["cells"].items())
    lines = [f"would run {cells}"] if cells else []
    if plan["needs"]:
        rows = [("", "needs", "wanted", "found", "")]
        rows += [
            ("!" if n["missing"] else "", n["what"], n["wanted"], n["found"], n["missing"] or "") for n in plan["needs"]
        ]
        lines += ["", *aligned(rows, {})]
        missing = sum(bool(need["missing"]) for need in plan["needs"])
        lines += ["", f"{counted(missing, 'need')} missing here" if missing else "nothing is missing here"]
    for number, server in enumerate(plan["servers"], 1):
        lines += ["", *_server(number, server)]
    if plan["servers"]:
        servers = counted(len(plan["servers"]), "server")
        lines += ["", f"{servers}, about {duration(plan['minutes'])} by the estimates of the matrix file"]
    return "".join(f"{visible(line)}\n" for line in lines)


def _server(number: int, server: documents.PlannedServer) -> Iterator[str]:
    tree = f"{server['release']} with {', '.join(server['patches'])}" if server["patches"] else server["release"]
    yield f"{number}. {server['row']}, {server['mode']}: {tree}"
    yield f"  model    {server['model']}, on {counted(server['devices'], 'NPU')}"
    yield from (f"  env      {name}={shlex.quote(value)}" for name, value in sorted(server["environment"].items()))
    yield f"  server   {shlex.join(server['command'])}"
    yield f"           about {duration(server['minutes'])} until it is healthy"
    for runs in server["benchmarks"]:
        yield f"  {runs['name']}: {runs['dataset']}, {counted(runs['runs'], 'run')}, about {duration(runs['minutes'])}"
        yield f"           {shlex.join(runs['command'])}"


def duration(minutes: float) -> str:
    """Write minutes as one would say them."""
    if minutes < 2 * _HOUR:
        return f"{minutes:.0f} min"
    return f"{minutes / _HOUR:.1f} h"
