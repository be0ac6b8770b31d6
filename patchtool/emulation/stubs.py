"""Stub modules for packages that only exist on an NPU host. They can be imported but not used.

Attributes without a reference may be looked up, because upstream names them at import; every lookup is recorded, and a
call raises an error with the attribute's name.
"""

from __future__ import annotations

import sys
import types
from collections import defaultdict
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGES = ("acl", "torch_npu", "sgl_kernel_npu", "sgl_kernel", "torchair", "custom_ops", "torchvision")
"""All packages with stubs."""

ACCESSED_STUBS: dict[str, set[str]] = defaultdict(set)
"""Attributes without a reference that were looked up, by module."""


class NoReferenceError(RuntimeError):
    """Upstream called something that has no CPU reference."""


class _StubMeta(type):
    """Creates classes that can be named, subclassed, annotated with and used as decorators, but not called."""

    def __getattr__(cls, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return stub_attribute(f"{cls.__module__}.{cls.__qualname__}", name)

    def __call__(cls, *args: object, **kwargs: object) -> object:
        if len(args) == 1 and not kwargs and isinstance(args[0], (types.FunctionType, type)):
            return args[0]
        raise NoReferenceError(f"{cls.__module__}.{cls.__qualname__} was called and has no CPU reference")

    def __or__(cls, _other: object) -> Any:
        return cls

    __ror__ = __getitem__ = __or__


def stub_attribute(module: str, name: str) -> type:
    """Create an attribute that may be looked up but not called."""
    return _StubMeta(name, (), {"__module__": module})


class StubModule(types.ModuleType):
    """A module that creates and records unknown attributes."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__version__ = "0+emulated"

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        ACCESSED_STUBS[self.__name__].add(name)
        value = sys.modules.get(f"{self.__name__}.{name}") or stub_attribute(self.__name__, name)
        setattr(self, name, value)
        return value


class StubFinder(MetaPathFinder, Loader):
    """Finds stubs before installed packages of the same name.

    An installed torch_npu without CANN breaks the import of torch itself, so this finder must come first.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of the stub packages."""
        del path, target
        return ModuleSpec(fullname, self, is_package=True) if fullname.partition(".")[0] in PACKAGES else None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        """Create the stub."""
        return StubModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: a stub has no code."""


def install_stub_finder() -> None:
    """Put the finder before all others.

    Raises:
        NoReferenceError: A real package of the same name is loaded already.
    """
    loaded = [name for name in PACKAGES if not isinstance(sys.modules.get(name, StubModule(name)), StubModule)]
    if loaded:
        raise NoReferenceError(f"real packages were imported before the stubs: {', '.join(loaded)}")
    if not any(isinstance(finder, StubFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, StubFinder())
