"""Calls Triton kernels of a release's tree under Triton's interpreter, in a child process."""

import contextlib
import importlib
import inspect
import os
import pickle
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

LAYERS = "sglang.srt.layers.attention"


class Interpreter:
    """The child process; it is killed at the end of the ``with`` block.

    Args:
        tree: The folder that holds ``sglang/``.
        environment: The complete environment of the child.
    """

    def __init__(self, tree: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(tree)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )

    def __enter__(self) -> "Interpreter":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def __call__(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call ``module:function`` below `LAYERS`.

        Returns:
            The result, and the arguments after the call by name or position.

        Raises:
            AssertionError: The kernel raised an error, or the child exited.
        """
        assert self._process.stdin
        assert self._process.stdout
        pickle.dump((name, args, kwargs), self._process.stdin)
        self._process.stdin.flush()
        try:
            error, result, after = pickle.load(self._process.stdout)
        except EOFError:
            raise AssertionError(f"the interpreter exited in {name} with code {self._process.wait()}") from None
        assert not error, f"{name}: {error}"
        return result, after


def serve(tree: Path) -> None:
    """Answer calls until stdin is closed; upstream's output goes to stderr."""
    import torch

    from patchtool.emulation.install import install_emulation

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    install_emulation(tree)
    _complete_interpreter()
    while True:
        try:
            name, args, kwargs = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            # without the device mapping, which copies tensors where Triton needs their own memory
            with torch._C.DisableTorchFunction():
                answer = "", _kernel(name)(*args, **kwargs), {**dict(enumerate(args)), **kwargs}
        except Exception as error:  # noqa: BLE001  any error is reported to the caller
            answer = f"{type(error).__name__}: {error}", None, {}
        pickle.dump(answer, answers)
        answers.flush()


def _complete_interpreter() -> None:
    """Add what triton-ascend's interpreter lacks on a CPU; none of it changes what a kernel computes."""
    import torch
    import triton
    from triton.runtime import interpreter

    torch.cpu.device = contextlib.nullcontext
    # launch options of autotuned kernels
    interpreter.RESERVED_KWS += inspect.signature(triton.Config).parameters
    # before upstream imports Triton's functions by name, replace those that cannot be interpreted
    interpreter._patch_lang(types.SimpleNamespace(__globals__={"tl": triton.language}))
    # compiled kernels constant-fold ``bool & tensor``
    triton.language.core.tensor.__rand__ = lambda right, left: right & left


def _kernel(name: str) -> Any:
    """Look up a function, or a kernel with its launch grid for ``module:function[grid]``."""
    module, _, function = name.partition(":")
    function, _, grid = function.partition("[")
    kernel = getattr(importlib.import_module(f"{LAYERS}.{module}"), function)
    return kernel[tuple(int(size) for size in grid.rstrip("]").split(","))] if grid else kernel


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
