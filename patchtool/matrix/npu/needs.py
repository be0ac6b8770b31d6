"""What served models need of a host, and what of it is missing here."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from patchtool.matrix.npu import host
from patchtool.matrix.npu.served_group import SHAREGPT, dataset_path
from patchtool.matrix.planning.served_models import Accuracy, Speed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchtool.domain.release import Release
    from patchtool.matrix.npu.detect import Npu
    from patchtool.matrix.npu.served_group import ServedGroup
    from patchtool.matrix.options import RunOptions
    from patchtool.matrix.planning.served_models import Stack

_GIB = 1 << 30
_ROOM = 0.8
"""Share of a device's memory for weights; the states, the cache and the graphs need the rest."""


class Need(NamedTuple):
    """Something that a run needs.

    Args:
        what: Its name.
        wanted: What of it.
        found: What this host has.
        missing: What to do about it; empty where it is there, or where that cannot be known.
    """

    what: str
    wanted: str
    found: str
    missing: str = ""


def version_conflict(stack: Stack, npu: Npu) -> str:
    """Say why cells of a release cannot run with the installed torch_npu; empty when they can.

    A post release of torch_npu is compatible with the others of its version.
    """
    found = npu.packages.get("torch-npu", "")
    if not stack.torch_npu or not found or _base(found) == _base(stack.torch_npu):
        return ""
    return f"{', '.join(stack.releases)} needs torch_npu {_base(stack.torch_npu)}, and {found} is installed"


def needs(release: Release, groups: Sequence[ServedGroup], npu: Npu) -> list[Need]:
    """List what the groups of one release need.

    Args:
        release: The release.
        groups: At least one.
        npu: The devices and the packages on this host.
    """
    stack = groups[0].config.stack_of(release)
    options = groups[0].options
    return [
        *_devices(groups, npu),
        *_versions(stack, npu),
        *_ports(groups, npu),
        *_models(groups, npu, options),
        *_datasets(groups, npu, options),
    ]


def _devices(groups: Sequence[ServedGroup], npu: Npu) -> Iterator[Need]:
    most = max(group.model.devices for group in groups)
    missing = "" if len(npu.free) >= most else f"make {most} NPUs free, or select models that need fewer with -k"
    found = f"{npu.reason}; free: {', '.join(npu.free) or 'none'}" if npu.usable else npu.reason
    yield Need("NPUs", f"{most} free", found, missing)


def _versions(stack: Stack, npu: Npu) -> Iterator[Need]:
    driver, problem = host.driver_version()
    yield _at_least("driver", stack.driver, driver, problem or "not found")
    yield _exact("CANN", stack.cann, host.cann_version(), "source CANN's set_env.sh")
    for what, wanted in (
        ("torch", stack.torch),
        ("torch-npu", stack.torch_npu),
        ("sgl-kernel-npu", stack.sgl_kernel_npu),
    ):
        need = _exact(what, wanted, npu.packages.get(what, ""), f"install {what} {wanted}".rstrip())
        conflict = version_conflict(stack, npu) if what == "torch-npu" else ""
        yield need._replace(missing=f"{conflict}: its cells are skipped") if conflict else need


def _ports(groups: Sequence[ServedGroup], npu: Npu) -> Iterator[Need]:
    if all(group.model.devices == 1 for group in groups):
        return
    hccl = "not known" if npu.hccl is None else "available" if npu.hccl else "not available"
    yield Need("HCCL", "for several NPUs", hccl, "" if npu.hccl is not False else "install a torch_npu with HCCL")
    busy = ", ".join(map(str, host.busy_hccl_ports()))
    yield Need("HCCL ports", "16 free", f"busy: {busy}" if busy else "free", busy and "set HCCL_IF_BASE_PORT")


def _models(groups: Sequence[ServedGroup], npu: Npu, options: RunOptions) -> Iterator[Need]:
    for group in {each.model.model: each for each in groups}.values():
        what, folder = f"model {group.model.model}", Path(group.model_path)
        if not folder.is_dir():
            where = f"not in {options.models}" if options.models else "not here"
            missing = f"download it to {options.models or 'a folder, and name that with --models DIR'}"
            if not options.models and _cached(group.model.model):
                where, missing = "in the cache of Hugging Face", ""
            yield Need(what, "its files", where, missing)
            continue
        weights = host.weights_size(folder)
        devices = group.model.devices
        yield Need(what, "its weights", f"{folder}, {weights / _GIB:.1f} GiB", "" if weights else "its *.safetensors")
        if npu.memory and weights:
            each = weights / devices
            fits = each <= _ROOM * max(npu.memory)
            wanted = f"{each / _GIB:.1f} GiB of weights on each of {devices}"
            free = f"{max(npu.memory) / _GIB:.1f} GiB free"
            yield Need(f"memory for {group.model.name}", wanted, free, "" if fits else "give the row more devices")


def _datasets(groups: Sequence[ServedGroup], npu: Npu, options: RunOptions) -> Iterator[Need]:
    benchmarks = [each for group in groups for each in group.benchmarks.values()]
    names = dict.fromkeys(each.dataset for each in benchmarks if isinstance(each, Accuracy))
    files = {f"dataset {name}": name for name in names}
    if any(isinstance(each, Speed) for each in benchmarks):
        files["prompts of bench_serving"] = SHAREGPT
    for what, name in files.items():
        if options.datasets is None:
            yield Need(what, name, "downloaded when it is needed; without a network name a folder with --datasets DIR")
            continue
        path = dataset_path(name, options.datasets)
        there = path.exists()
        yield Need(what, name, str(path) if there else "not there", "" if there else f"download it to {path}")
    if names:
        found = npu.packages.get("evalscope", "")
        yield Need("evalscope", "1.14", found or "not installed", "" if found else "pip install evalscope")


def _cached(model: str) -> bool:
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    return (home / "hub" / f"models--{model.replace('/', '--')}").is_dir()


def _exact(what: str, wanted: str, found: str, hint: str) -> Need:
    numbers = _numbers(wanted)
    missing = "" if found and _numbers(found)[: len(numbers)] == numbers else hint
    return Need(what, wanted or "not known for this release", found or "not found", missing)


def _at_least(what: str, wanted: str, found: str, problem: str) -> Need:
    enough = bool(found) and (not wanted or _numbers(found) >= _numbers(wanted))
    hint = "update it" if found else "install it, and put its tools on PATH"
    wanted = f"{wanted} or later" if wanted else "not known for this release"
    return Need(what, wanted, found or problem, "" if enough else hint)


def _base(version: str) -> str:
    """A version without its local and post parts."""
    return re.split(r"[+]|\.post", version)[0]


def _numbers(version: str) -> list[int]:
    """The numbers in a version: a tag such as ``2026.05.01.post3`` is the distribution's ``2026.5.1.post3``."""
    return [int(number) for number in re.findall(r"\d+", version.partition("+")[0])]
