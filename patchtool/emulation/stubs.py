"""Inert modules for packages that only exist on an NPU host: importable, recorded, and loud when called."""

from __future__ import annotations

import sys
import types
from collections import defaultdict
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGES = ("torch_npu", "sgl_kernel_npu", "sgl_kernel", "torchair", "custom_ops", "torchvision")
"""The whole allow list: nothing else is ever stood in for."""

ACCESSED_STUBS: dict[str, set[str]] = defaultdict(set)
"""Attributes that had no reference, by module: what a run must be able to name."""


class NoReferenceError(RuntimeError):
    """Upstream called something that has no CPU reference."""


class _InertMeta(type):
    """Makes classes that can be named, subclassed, put into annotations and used as decorators, but not called."""

    def __getattr__(cls, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return uncallable(f"{cls.__module__}.{cls.__qualname__}", name)

    def __call__(cls, *args: object, **kwargs: object) -> object:
        if len(args) == 1 and not kwargs and isinstance(args[0], (types.FunctionType, type)):
            return args[0]
        raise NoReferenceError(f"{cls.__module__}.{cls.__qualname__} was called and has no CPU reference")

    def __or__(cls, _other: object) -> Any:
        return cls

    def __ror__(cls, _other: object) -> Any:
        return cls

    def __getitem__(cls, _key: object) -> object:
        return cls


def uncallable(module: str, name: str) -> type:
    """Make an attribute that may be looked at but not called."""
    return _InertMeta(name, (), {"__module__": module})


class StubModule(types.ModuleType):
    """A module whose unknown attributes are inert, and recorded."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__version__ = "0+emulated"

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        ACCESSED_STUBS[self.__name__].add(name)
        value = sys.modules.get(f"{self.__name__}.{name}") or uncallable(self.__name__, name)
        setattr(self, name, value)
        return value


class StubFinder(MetaPathFinder, Loader):
    """Serves the allow list before any installed package of the same name can be found.

    An installed torch_npu without CANN breaks the import of torch itself, so this finder has to stand first.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        """Claim a module of the allow list."""
        del path, target
        allowed = fullname.partition(".")[0] in PACKAGES
        return ModuleSpec(fullname, self, is_package=True) if allowed else None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        """Make the stand-in."""
        return StubModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Run nothing: a stand-in has no body."""


def install_stub_finder() -> None:
    """Put the finder in front of every other; refuses where a real package was imported before it.

    Raises:
        NoReferenceError: A package of the allow list is loaded already.
    """
    loaded = [name for name in PACKAGES if not isinstance(sys.modules.get(name, StubModule(name)), StubModule)]
    if loaded:
        raise NoReferenceError(f"real packages were imported before the stand-ins: {', '.join(loaded)}")
    if not any(isinstance(finder, StubFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, StubFinder())
