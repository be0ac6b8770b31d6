"""Recording what is computed while a graph is captured, so that a replay computes that and nothing else.

A device's graph holds kernels and addresses. A replay runs no Python: it reads the memory that was captured, whatever
has been assigned to attributes since. So a recording holds the calls of torch's operators and of reference kernels, in
their order, with aliases of the tensors that they were called on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from patchtool.emulation.upstream import UnsupportedReleaseError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_UNWRITTEN = "empty"
"""In the names of operators that allocate memory and write nothing to it."""
_OPERATORS = "aten"
"""The namespace of torch's own operators."""


@dataclass(frozen=True)
class _Call:
    """A call, and aliases of its arguments and of what it returned."""

    function: Callable[..., Any]
    args: Any
    kwargs: Mapping[str, Any]
    results: list[Tensor]

    def run(self) -> None:
        """Call again, and write what it returns to where the first call's results are."""
        returned = _tensors(self.function(*self.args, **self.kwargs))
        for result, new in zip(self.results, returned, strict=True):
            if _memory(result) != _memory(new):
                result.copy_(new)


class Recording(TorchDispatchMode):  # type: ignore[misc]
    """Records what is computed while it is entered; that is computed as usual, too."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[_Call] = []
        self._in_kernel = False
        self._inference = False

    def __enter__(self) -> Recording:
        self._inference = torch.is_inference_mode_enabled()
        _ACTIVE.append(self)
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        _ACTIVE.remove(self)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator and record it, unless it only makes a view of memory or none of its values is defined.

        Raises:
            UnsupportedReleaseError: It is a library's own operator, which a device would capture kernel by kernel.
        """
        options = kwargs or {}
        if self._in_kernel or _UNWRITTEN in func.name():
            return func(*args, **options)
        if func.namespace != _OPERATORS:
            raise UnsupportedReleaseError(f"it captures {func.name()} in a graph, of which a replay could run Python")
        out = func(*args, **options)
        owned = {_memory(each) for each in _tensors((args, options))}
        if func._schema.is_mutable or not all(_memory(each) in owned for each in _tensors(out)):  # noqa: SLF001
            self._add(func, args, options, out)
        return out

    def call(self, kernel: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Run a reference kernel and record it as one call: what it does inside may depend on values."""
        if self._in_kernel:
            return kernel(*args, **kwargs)
        self._in_kernel = True
        try:
            out = kernel(*args, **kwargs)
            self._add(kernel, args, kwargs, out)
        finally:
            self._in_kernel = False
        return out

    def replay(self) -> None:
        """Compute what was recorded once more, on the same memory.

        Raises:
            RuntimeError: Nothing was recorded.
        """
        if not self._calls:
            raise RuntimeError("a graph was replayed without a capture")
        with torch.inference_mode(self._inference), torch.no_grad(), torch._C.DisableTorchFunction():  # noqa: SLF001
            for call in self._calls:
                call.run()

    def _add(self, function: Callable[..., Any], args: Any, kwargs: Mapping[str, Any], out: Any) -> None:
        aliases = tree_map_only(Tensor, Tensor.detach, (args, kwargs, _tensors(out)))
        self._calls.append(_Call(function, *aliases))


_ACTIVE: list[Recording] = []
"""The recordings that are entered, the innermost last."""


def launch(kernel: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
    """Run a reference kernel, as a part of the graph that is captured, if one is."""
    return _ACTIVE[-1].call(kernel, args, kwargs) if _ACTIVE else kernel(*args, **kwargs)


def _tensors(tree: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def _memory(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)  # noqa: SLF001  equal for views of one storage, and empty ones differ
