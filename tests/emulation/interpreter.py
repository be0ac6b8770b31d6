"""Real Triton kernels of a release's tree under Triton's interpreter, in a child process that runs what it is told."""

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
    """The child; it ends with the ``with`` block.

    Args:
        tree: The folder that holds ``sglang/``.
        environment: All variables of the child.
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
            What it returned, with the tensors that it was handed as they are afterwards, by name or position.

        Raises:
            AssertionError: The kernel raised, or the child is gone; with its words.
        """
        assert self._process.stdin
        assert self._process.stdout
        pickle.dump((name, args, kwargs), self._process.stdin)
        self._process.stdin.flush()
        try:
            fault, result, after = pickle.load(self._process.stdout)
        except EOFError:
            raise AssertionError(f"the interpreter ended in {name}, exit code {self._process.wait()}") from None
        assert not fault, f"{name}: {fault}"
        return result, after


def serve(tree: Path) -> None:
    """Answer calls until the other end closes; what upstream prints goes to standard error."""
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
            # without the device mapping, which copies where Triton takes a tensor's own memory
            with torch._C.DisableTorchFunction():
                answer = "", _kernel(name)(*args, **kwargs), {**dict(enumerate(args)), **kwargs}
        except Exception as error:  # noqa: BLE001  it is told, whatever it is
            answer = f"{type(error).__name__}: {error}", None, {}
        pickle.dump(answer, answers)
        answers.flush()


def _complete_interpreter() -> None:
    """Fill the gaps of triton-ascend's interpreter on a CPU; none of them touches what a kernel computes."""
    import torch
    import triton
    from triton.runtime import interpreter

    torch.cpu.device = contextlib.nullcontext
    # settings of an autotuned launch
    interpreter.RESERVED_KWS += inspect.signature(triton.Config).parameters
    # upstream keeps names of Triton's functions, and would keep those that cannot be interpreted
    interpreter._patch_lang(types.SimpleNamespace(__globals__={"tl": triton.language}))
    # a compiled kernel folds the bool on the left of ``bool & tensor``
    triton.language.core.tensor.__rand__ = lambda right, left: right & left


def _kernel(name: str) -> Any:
    """Find a function; ``module:function[grid]`` launches a bare kernel on a grid."""
    module, _, function = name.partition(":")
    function, _, grid = function.partition("[")
    found = getattr(importlib.import_module(f"{LAYERS}.{module}"), function)
    return found[tuple(int(size) for size in grid.rstrip("]").split(","))] if grid else found


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
