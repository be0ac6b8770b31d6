"""Hit scenarios with faults and judge what is left; started by test_faults.py and `make crash`."""

from __future__ import annotations

import errno
import gc
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

from tests.faults.injector import Action, Ended, Fault, Injector, Kind
from tests.faults.mirror import Mirror
from tests.faults.scenarios import GIT_FOLDERS, SCENARIOS, Scenario, Snapshot, World

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.faults.injector import Call

ERRORS = (
    *((Action.FAIL, number) for number in (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EINTR)),
    *((Action.FAIL_FROM, number) for number in (errno.ENOSPC, errno.EROFS)),
)
SIGNALS = ((Action.SIGNAL, signal.SIGINT), (Action.SIGNAL, signal.SIGTERM))
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
        shutil.rmtree(self.world.folder, ignore_errors=True)
        self.world.create()
        for argv in scenario.before:
            self._must(argv, 0)
        scenario.prepare(self.world)
        self._mirror = Mirror(self.world.folder, folder / "template")
        self._right: set[tuple[object, ...]] = set()
        self.old = self.world.snapshot()
        self.undisturbed = self._must(scenario.argv, scenario.code)
        self.new = self.world.snapshot()

    def _must(self, argv: tuple[str, ...], code: int) -> Ended:
        ended = self.injector.run(partial(self.world.run, *argv))
        if ended.code != code:
            raise AssertionError(f"{argv}: {ended}")
        return ended

    def hit(self, fault: Fault) -> tuple[Ended, Verdict]:
        """Run the scenario with a fault, then the next runs, and judge.

        What the next runs do depends on what is on disk alone: the same state is judged once.
        """
        self._mirror.restore()
        ended = self.injector.run(partial(self.world.run, *self.scenario.argv), fault)
        if problem := self._of_the_words(ended):
            return ended, problem
        end = (ended.code, *sorted(self._mirror.differences().items()))
        if end in self._right:
            return ended, Verdict("right")
        if problem := self._first_problem(fault, ended):
            return ended, problem
        if not _cannot_restore(fault):
            self._right.add(end)
        return ended, Verdict("right")

    def _first_problem(self, fault: Fault, ended: Ended) -> Verdict | None:
        return self._after_the_run(fault, ended) or self._after_looking() or self._after_the_same_run_again()

    def _of_the_words(self, ended: Ended) -> Verdict | None:
        """It ends as planned, by the fault, or with an error of ours."""
        if ended.code in (0, 1, self.scenario.code, *DIED):
            return None
        told = f"\n{ended.text}"
        if ended.code not in (2, 4, 130) or "\nerror: " not in told or "\nhint: " not in told or "Traceback" in told:
            return Verdict("wrong", f"exit {ended.code}: {ended.text[-300:]}")
        return None

    def _after_the_run(self, fault: Fault, ended: Ended) -> Verdict | None:
        """Its exit code is right, and an error leaves nothing behind."""
        if ended.code in (0, 1, self.scenario.code):
            known = self._known(found := self.world.snapshot())
            if _cannot_restore(fault):  # what is left of a complete change stays, with its folder
                left = [f"{name}/" for name in found.keys() - known.keys()]
                known = {path: value for path, value in known.items() if path in self.new or not _has(path, left)}
            missing = _differs(*map(_without_state_folder, (known, self.new)))
            return Verdict("wrong", f"exit {ended.code}, but {missing}") if missing else None
        if ended.code in DIED:
            return None
        if not _cannot_restore(fault) and (torn := self._torn(all_names=True)):
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


def _has(folder: str, paths: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder}/") for path in paths)


def _part_of(path: str) -> str:
    return path.split("/")[0].split(" ")[0]


def _differs(one: Snapshot, other: Snapshot) -> str:
    names = [name for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name)]
    return ", ".join(names[:5])


def _cannot_restore(fault: Fault) -> bool:
    """Whether it leaves a file system that has become read-only."""
    return (fault.action, fault.argument) == (Action.FAIL_FROM, errno.EROFS)


def faults(run: Ended) -> list[Fault]:
    """Every fault of a run, without those that cannot differ from another one, or from none.

    Args:
        run: The run without a fault.
    """
    found = []
    for number, (call, before) in enumerate(zip(run.calls, (None, *run.calls)), start=1):
        alone = call.pid == run.pid and not _others_run(run, number)
        found += [Fault(*kind, number) for kind in _faults_of(call, before, alone=alone)]
    return found


def _faults_of(call: Call, before: Call | None, *, alone: bool) -> Iterator[tuple[Action, int]]:
    # A file that was synced is, to a run that is killed, as it was before.
    if not (alone and before and before.pid == call.pid and before.kind == Kind.SYNCS):
        yield Action.KILL, 0
        if not alone:
            yield Action.KILL_GROUP, 0
    if call.kind == Kind.BYTES:
        yield Action.HALF_WRITE, 0
    # Where a call cannot fail so, a disk that is full from there on is full at the next one that can.
    yield from ((action, number) for action, number in ERRORS if call.errors >> number & 1)
    # Signals that are held back arrive together.
    if not (before and call.held and before.held == call.held):
        yield from SIGNALS
    if not alone:
        yield Action.SIGNAL_GROUP, signal.SIGINT


def _others_run(run: Ended, number: int) -> bool:
    """Whether a program that was started before a call does something after it."""
    before = {call.pid for call in run.calls[: number - 1]}
    return any(call.pid in before and call.pid != run.pid for call in run.calls[number:])


def preload() -> None:
    """Import what the verbs import, once for all children."""
    import patchtool

    for name in ("libcst.matchers", "libcst.native", "cyclonedx.output.json"):
        importlib.import_module(name)
    for module in pkgutil.walk_packages(patchtool.__path__, "patchtool."):
        if not module.name.startswith(("patchtool.emulation", "patchtool.matrix", "patchtool.__main__")):
            importlib.import_module(module.name)
    gc.freeze()  # memory that the children share with this process stays shared


def main(argv: list[str]) -> int:
    """Hit a share of the faults of the scenarios whose name has one of the words.

    Every fault that ended badly is a line of JSON; the last line counts the verdicts.

    Args:
        argv: A folder, which share, counted from 0, of how many, and the words.
    """
    folder, share, shares, words = Path(argv[0]), int(argv[1]), int(argv[2]), argv[3:]
    preload()
    injector, totals = Injector(), Counter[str]()
    for place, scenario in enumerate(SCENARIOS):
        if words and not any(word in scenario.name for word in words):
            continue
        bench = Bench(injector, folder, scenario)
        # Numbered within each scenario, so that shares add up although a program's number of calls may vary.
        for fault in faults(bench.undisturbed)[(share - place) % shares :: shares]:
            ended, verdict = bench.hit(fault)
            totals[verdict.kind] += 1
            if verdict.kind != "right":
                _tell([scenario.name, str(fault), verdict.kind, ended.what, ended.code, verdict.detail])
        sys.stderr.write(f"{share + 1}/{shares} {scenario.name}: {dict(totals)}\n")
    _tell(totals)
    return 1 if totals.keys() - {"right"} else 0


def _tell(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main(sys.argv[1:]))
