"""Hit scenarios with faults and judge what is left; started by test_faults.py and `make crash`."""

from __future__ import annotations

import errno
import importlib
import json
import pkgutil
import shutil
import signal
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.faults.injector import Action, Ended, Fault, Injector
from tests.faults.scenarios import GIT_FOLDERS, SCENARIOS, Scenario, Snapshot, World

if TYPE_CHECKING:
    from collections.abc import Sequence

KILLS = ((Action.KILL, 0), (Action.KILL_GROUP, 0), (Action.HALF_WRITE, 0))
ERRORS = (
    *((Action.FAIL, number) for number in (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EINTR)),
    *((Action.FAIL_FROM, number) for number in (errno.ENOSPC, errno.EROFS)),
    (Action.SIGNAL, signal.SIGINT),
    (Action.SIGNAL, signal.SIGTERM),
    (Action.SIGNAL_GROUP, signal.SIGINT),
)
DIED = (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT)


class Verdict(NamedTuple):
    """What a fault led to.

    Args:
        kind: ``right``, ``litter``, ``stuck`` or ``wrong``.
        detail: What was seen.
    """

    kind: str
    detail: str = ""


class Bench:
    """One scenario, prepared: the worlds before and after an undisturbed run."""

    def __init__(self, injector: Injector, folder: Path, scenario: Scenario) -> None:
        self.injector = injector
        self.scenario = scenario
        self.world = World(folder / "world")
        place = scenario.argv[-1]
        self.world.repositories = tuple(name for name in GIT_FOLDERS if name == "store" or name.startswith(place))
        self._template = folder / "template"
        shutil.rmtree(self.world.folder, ignore_errors=True)
        shutil.rmtree(self._template, ignore_errors=True)
        self.world.create()
        for argv in scenario.before:
            self._must(argv, 0)
        scenario.prepare(self.world)
        shutil.copytree(self.world.folder, self._template, symlinks=True)
        self.old = self.world.snapshot()
        ended = self._must(scenario.argv, scenario.code)
        self.new = self.world.snapshot()
        self.calls = ended.calls

    def _must(self, argv: tuple[str, ...], code: int) -> Ended:
        ended = self.injector.run(partial(self.world.run, *argv))
        if ended.code != code:
            raise AssertionError(f"{argv}: {ended}")
        return ended

    def hit(self, fault: Fault) -> tuple[Ended, Verdict]:
        """Run the scenario with a fault, then the next runs, and judge."""
        shutil.rmtree(self.world.folder)
        shutil.copytree(self._template, self.world.folder, symlinks=True)
        ended = self.injector.run(partial(self.world.run, *self.scenario.argv), fault)
        return ended, self._first_problem(fault, ended) or Verdict("right")

    def _first_problem(self, fault: Fault, ended: Ended) -> Verdict | None:
        return self._after_the_run(fault, ended) or self._after_looking() or self._after_the_same_run_again()

    def _after_the_run(self, fault: Fault, ended: Ended) -> Verdict | None:
        """Its exit code is right, and an error leaves nothing behind."""
        if ended.code in (0, 1, self.scenario.code):
            missing = _differs(*map(_without_state_folder, (self._known(self.world.snapshot()), self.new)))
            return Verdict("wrong", f"exit {ended.code}, but {missing}") if missing else None
        if ended.code in DIED:
            return None
        told = f"\n{ended.text}"
        if ended.code not in (2, 4, 130) or "\nerror: " not in told or "\nhint: " not in told or "Traceback" in told:
            return Verdict("wrong", f"exit {ended.code}: {ended.text[-300:]}")
        # On a file system that has become read-only, nothing can be restored.
        if (fault.action, fault.argument) != (Action.FAIL_FROM, errno.EROFS) and (torn := self._torn(all_names=True)):
            return Verdict("litter", f"after exit {ended.code}: {torn}")
        return None

    def _after_looking(self) -> Verdict | None:
        """Another verb works, and finds the old state or the new one."""
        looked = self.injector.run(partial(self.world.run, *self.scenario.look))
        if looked.code not in (0, 1, 3) and "is not in the store" not in looked.text:
            return Verdict("stuck", f"{self.scenario.look} exit {looked.code}: {looked.text[-300:]}")
        if self.scenario.recovers and (torn := self._torn(but=self.scenario.resumed)):
            return Verdict("wrong", f"after {self.scenario.look[0]}: {torn}")
        return None

    def _after_the_same_run_again(self) -> Verdict | None:
        """It does what it should have done, and leaves nothing of the first run."""
        again = self.injector.run(partial(self.world.run, *self.scenario.argv))
        after = self.world.snapshot()
        if again.code != self.scenario.code and not (self.scenario.once and not _differs(after, self.new)):
            return Verdict("stuck", f"the same run again: exit {again.code}: {again.text[-300:]}")
        if extra := sorted(after.keys() - self.new.keys()):
            return Verdict("litter", ", ".join(extra))
        if differs := _differs(after, self.new):
            return Verdict("wrong", f"after the same run again: {differs}")
        return None

    def _known(self, state: Snapshot) -> Snapshot:
        """The state without what is neither in the old one nor in the new one."""
        known = self.old.keys() | self.new.keys()
        return {name: value for name, value in state.items() if name in known}

    def _torn(self, *, all_names: bool = False, but: str = "") -> str:
        """Names of those parts of the world, such as the store, that are neither as before nor as after."""
        left = self.world.snapshot()
        left = left if all_names else self._known(left)
        torn = []
        for name in sorted({_part_of(path) for path in (*left, *self.old)} - {"store", but}):
            found, old, new = (
                {path: value for path, value in state.items() if _part_of(path) == name}
                for state in (left, self.old, self.new)
            )
            if found not in (old, new):
                torn.append(_differs(found, old))
        refs = [state.get("store refs", "") for state in (left, self.old, self.new)]
        return "; ".join(torn + ([] if refs[0] in refs[1:] else ["store refs"]))


def _without_state_folder(state: Snapshot) -> Snapshot:
    return {path: value for path, value in state.items() if ".patchtool" not in path}


def _part_of(path: str) -> str:
    return path.split("/")[0].split(" ")[0]


def _differs(one: Snapshot, other: Snapshot) -> str:
    names = [name for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name)]
    return ", ".join(names[:5])


def faults(bench: Bench, kinds: Sequence[tuple[Action, int]] = (*KILLS, *ERRORS)) -> list[Fault]:
    """Every fault of a scenario."""
    return [Fault(action, argument, number) for number in range(1, bench.calls + 1) for action, argument in kinds]


def preload() -> None:
    """Import what the verbs import, once for all children."""
    import libcst.matchers  # noqa: F401

    import patchtool

    for module in pkgutil.walk_packages(patchtool.__path__, "patchtool."):
        if not module.name.startswith(("patchtool.emulation", "patchtool.matrix", "patchtool.__main__")):
            importlib.import_module(module.name)


def main(argv: list[str]) -> int:
    """Hit every n-th fault of the scenarios whose name has one of the words; a line of JSON for each that ended badly.

    Args:
        argv: A folder, n, the first fault's number, and the words.
    """
    folder, every, first, words = Path(argv[0]), int(argv[1]), int(argv[2]), argv[3:]
    preload()
    injector, totals, number = Injector(), Counter[str](), first
    for scenario in SCENARIOS:
        if words and not any(word in scenario.name for word in words):
            continue
        bench = Bench(injector, folder, scenario)
        for fault in faults(bench):
            number += 1
            if number % every:
                continue
            ended, verdict = bench.hit(fault)
            totals[verdict.kind] += 1
            if verdict.kind != "right":
                _tell([scenario.name, str(fault), verdict.kind, ended.what, ended.code, verdict.detail])
    _tell(totals)
    return 1 if totals.keys() - {"right"} else 0


def _tell(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main(sys.argv[1:]))
