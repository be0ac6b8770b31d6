"""The ``served`` tables of ``ci/matrix.toml``: models that an NPU host serves, and the benchmarks to run on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from msgspec import Meta, field
from msgspec.structs import replace

from patchtool.domain.errors import InputError
from patchtool.domain.release import Release
from patchtool.domain.toml import RuleError, Table
from patchtool.matrix.cell import Mode
from patchtool.matrix.options import VISIBLE_NPUS

Seconds = Annotated[float, Meta(gt=0, le=1e9)]
"""Finite and positive, because waiting for ever or not at all is never meant."""
_Share = Annotated[float, Meta(ge=0, le=1)]
MOST_RUNS = 10
Subsets = Annotated[tuple[tuple[str, ...], ...], Meta(min_length=1)]
"""Lists of patches; the empty one is the unmodified release."""
MODE_FLAGS: Mapping[Mode, tuple[str, ...]] = {Mode.EAGER: ("--disable-cuda-graph",), Mode.GRAPH: ()}
"""Flags that make a server of any release run in a mode; graphs are its default."""


class Accuracy(Table, frozen=True):
    """A dataset that evalscope runs against a served model.

    Args:
        dataset: evalscope's name for it.
        threshold: The lowest score that passes, 0 to 1.
        drop: How far the score may be below that of the tree it is compared with.
        limit: Samples per subset; 0 for all.
        thinking: Whether thinking is enabled in the chat template.
        max_tokens: Of an answer.
        minutes: Estimate for one run, for plans.
        published: Scores before and after that somebody measured, each 0 to 1.
    """

    dataset: str
    threshold: _Share
    drop: float = 0.0
    limit: int = 0
    thinking: bool = False
    max_tokens: int = 32768
    minutes: Seconds = 60.0
    published: tuple[_Share, _Share] | None = None


class Speed(Table, frozen=True):
    """A load that ``sglang.bench_serving`` puts on a served model.

    Args:
        prompts: Number of requests.
        input_tokens: Of each request.
        output_tokens: Of each request.
        concurrency: Requests at a time.
        ttft: The highest time to first token that passes, as a ratio to the tree it is compared with.
        throughput: The lowest output throughput that passes, as a ratio.
        minutes: Estimate for one run, for plans.
        published_ttft: The range of the ratio that somebody measured.
        published_throughput: The ratio that somebody measured.
    """

    prompts: int
    input_tokens: int
    output_tokens: int
    concurrency: int
    ttft: float
    throughput: float
    minutes: Seconds = 15.0
    published_ttft: tuple[float, float] | None = None
    published_throughput: float | None = None


class Stack(Table, frozen=True):
    """What upstream runs some releases on; an empty version is not known.

    Args:
        releases: The releases.
        cann: CANN.
        driver: The oldest driver, of the HDK.
        torch: torch.
        torch_npu: torch_npu.
        sgl_kernel_npu: sgl-kernel-npu.
        source: Where this is written.
    """

    releases: Annotated[tuple[str, ...], Meta(min_length=1)]
    cann: str = ""
    driver: str = ""
    torch: str = ""
    torch_npu: str = ""
    sgl_kernel_npu: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        check_releases(self.releases)


class ServedModel(Table, frozen=True):
    """A model that is served from the pristine and from patched trees.

    Args:
        name: The row's name.
        model: Path or name that the server loads.
        flags: Of the server, after those of all models.
        environment: Variables of the server, beside those of all models.
        devices: Number of NPUs it needs.
        modes: It is served and measured in each.
        patches: Subsets of the series that are measured; none for the whole series.
        before: The subset that they are compared with; none for the unmodified release.
        runs: How often each benchmark is run on each tree.
        timeout: Seconds a measurement may take; 0 for the tier's.
        accuracy: Datasets to run.
        speed: Loads to run.
        source: Where the thresholds come from.
    """

    name: str
    model: str
    flags: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    devices: Annotated[int, Meta(ge=1)] = 1
    modes: Annotated[tuple[Mode, ...], Meta(min_length=1)] = (Mode.GRAPH,)
    patches: Subsets = ()
    before: tuple[str, ...] = ()
    runs: Annotated[int, Meta(ge=1, le=MOST_RUNS)] = 1
    timeout: Seconds = 0.0
    accuracy: tuple[Accuracy, ...] = ()
    speed: tuple[Speed, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        if not self.benchmarks:
            hint = "add [[served.model.accuracy]] or [[served.model.speed]]"
            raise RuleError("accuracy", f"nothing is measured of {self.name}", hint)
        _check_reserved(self.flags, self.environment)

    @property
    def benchmarks(self) -> dict[str, Accuracy | Speed]:
        """What is measured, by the name that its cells have."""
        speeds = {f"speed-{each.input_tokens}-{each.output_tokens}-{each.concurrency}": each for each in self.speed}
        scores = {f"{each.dataset}{'-thinking' if each.thinking else ''}": each for each in self.accuracy}
        return {**scores, **speeds}


class Commands(Table, frozen=True):
    """The programs of a measurement; ``{python}``, ``{host}`` and ``{port}`` are replaced.

    Args:
        server: Starts the tree's server; the model and the row's flags follow.
        evaluate: evalscope.
        speed: The load generator.
    """

    server: tuple[str, ...] = ("{python}", "-m", "sglang.launch_server", "--host", "{host}", "--port", "{port}")
    evaluate: tuple[str, ...] = ("{python}", "-m", "evalscope.cli.cli")
    speed: tuple[str, ...] = ("{python}", "-m", "sglang.bench_serving")


class ServedConfig(Table, frozen=True):
    """All models, and what they share.

    Args:
        model: The models, as in the file.
        flags: Of every server.
        environment: Variables of every server.
        commands: The programs.
        start_timeout: Seconds until a server must be healthy.
        start_minutes: Estimate for the same, for plans.
        stack: What upstream runs each release on.
    """

    model: tuple[ServedModel, ...] = ()
    flags: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    commands: Commands = field(default_factory=Commands)
    start_timeout: Seconds = 1800.0
    start_minutes: Seconds = 10.0
    stack: tuple[Stack, ...] = ()

    def __post_init__(self) -> None:
        _check_reserved(self.flags, self.environment)

    @property
    def models(self) -> tuple[ServedModel, ...]:
        """The models with the flags and variables that they share."""
        return tuple(
            replace(each, flags=(*self.flags, *each.flags), environment={**self.environment, **each.environment})
            for each in self.model
        )

    def stack_of(self, release: Release) -> Stack:
        """What upstream runs a release on; nothing is known of one that the file does not name."""
        named = (each for each in self.stack if release in map(Release.parse, each.releases))
        return next(named, Stack((str(release),)))


def check_releases(texts: Iterable[str]) -> None:
    """Check the versions that a table names.

    Raises:
        RuleError: One of them is none.
    """
    try:
        for text in texts:
            Release.parse(text)
    except InputError as error:
        raise RuleError("releases", error.message, error.hint) from None


def _check_reserved(flags: tuple[str, ...], environment: Mapping[str, str]) -> None:
    if VISIBLE_NPUS in environment:
        raise RuleError("environment", f"{VISIBLE_NPUS} is set for each run", "state the number of NPUs: devices = 2")
    for flag in MODE_FLAGS[Mode.EAGER]:
        if flag in flags:
            raise RuleError("flags", f"{flag} is set by the mode", 'state the mode: modes = ["eager"]')
