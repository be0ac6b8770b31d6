"""The references agree with the Triton kernels of the pinned release, and each comparison detects a wrong reference."""

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from patchtool.matrix.running.environment import cell_environment

from .interpreter import Interpreter

pytestmark = pytest.mark.emulated
torch = pytest.importorskip("torch", reason="torch not installed: pip install '.[emulated]'")

from patchtool.emulation.kernels import conv, delta, state, verify  # noqa: E402

from .kernel_checks import CHECKS, ids  # noqa: E402


@pytest.fixture(scope="module")
def kernels(wheel: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Interpreter]:
    tree, home = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("home")
    with zipfile.ZipFile(wheel("0.5.13")) as archive:
        archive.extractall(tree, [name for name in archive.namelist() if not name.endswith(".so")])
    with Interpreter(tree, cell_environment(Path(__file__).parents[2], home, None)) as interpreter:
        yield interpreter


@pytest.mark.parametrize("name", CHECKS)
def test_reference_agrees_with_triton_kernel(kernels: Any, name: str) -> None:
    torch.manual_seed(0)
    CHECKS[name](kernels)


def decay_after_update(s: Any, query: Any, key: Any, value: Any, log_decay: Any, strength: Any) -> Any:
    s = s + key[:, :, None] * ((value - (s * key[:, :, None]).sum(1)) * strength[:, None])[:, None, :]
    s = s * log_decay.exp()[:, None, None]
    return s, (s * query[:, :, None]).sum(1)


def unchanged(tensor: Any) -> Any:
    return tensor


def reversed_taps(inputs: Any, weight: Any, bias: Any, activation: Any, plain: Any = conv._convolve) -> Any:
    return plain(inputs, weight.flip(0), bias, activation)


def rollback_one_less(pool: Any, slots: Any, steps: Any, drafts: int, plain: Any = state.conv_state_rollback) -> Any:
    return plain(pool, slots, steps, drafts - 1)


WRONG = [
    ("unit_length", delta, "l2_normalize", lambda x: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)),
    ("gating", delta, "decay", lambda A_log, a, *_: -A_log.exp() * torch.nn.functional.softplus(a)),
    ("decode", delta, "delta_step", decay_after_update),
    ("verify", verify, "delta_step", decay_after_update),
    ("verify", verify, "storage_view", unchanged),
    ("verify", verify, "l2_normalize", unchanged),
    ("chunks", delta, "delta_step", decay_after_update),
    ("chunks", delta, "CHUNK", 32),
    ("chunks_of_later_releases", delta, "delta_step", decay_after_update),
    ("chunk_numbers", verify, "prepare_chunk_indices", lambda starts, _: torch.zeros(5, 2, dtype=starts.dtype)),
    ("convolution_of_sequences", conv, "_convolve", reversed_taps),
    ("convolution_of_one_token", conv, "_convolve", reversed_taps),
    ("convolution_of_drafts", conv, "_convolve", reversed_taps),
    ("rollback", state, "conv_state_rollback", rollback_one_less),
    ("commit", state, "storage_view", unchanged),
]


@pytest.mark.parametrize(("name", "module", "replaced", "wrong"), WRONG)
def test_wrong_reference_is_detected(
    kernels: Any, monkeypatch: pytest.MonkeyPatch, name: str, module: ModuleType, replaced: str, wrong: Any
) -> None:
    torch.manual_seed(0)
    monkeypatch.setattr(module, replaced, wrong)
    with pytest.raises(AssertionError, match=r"not close|not equal|do not match"):
        CHECKS[name](kernels)


def test_every_check_has_a_wrong_reference() -> None:
    assert {name for name, *_ in WRONG} == set(CHECKS)


def test_error_in_kernel_is_reported(kernels: Any) -> None:
    with pytest.raises(AssertionError, match=r"ValueError.*only supports CUDA"):
        kernels(
            "mamba.mamba_state_scatter_triton:fused_mamba_state_scatter_with_mask",
            torch.zeros(1, 1, 1),
            torch.zeros(1, 1, 1, 1),
            ids(0),
            ids(0),
        )
