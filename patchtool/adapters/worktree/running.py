"""What an interpreter runs: which files it finds for modules, and whether their bytecode is of the same bytes.

The interpreter is asked, because only its own finders know: ``sys.path``, ``.pth`` files, finders of editable installs,
extension modules, bytecode. Nothing of the package is imported.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from patchtool.adapters import process
from patchtool.adapters.worktree.bytecode import compiled_from_other_bytes
from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from patchtool.adapters.worktree.worktree import Worktree
    from patchtool.domain.package import Package

_SUFFIXES = (".so", ".pyd")
_PROBE = """
import importlib.machinery, json, os, sys, types
sys.dont_write_bytecode = True
sys.path[:] = [entry for entry in sys.path if entry]
package, modules = json.loads(sys.argv[1])

def find(name, path):
    for finder in sys.meta_path:
        spec = finder.find_spec(name, path, None) if hasattr(finder, "find_spec") else None
        if spec is not None:
            return spec

specs = {package: find(package, None)}

def spec_of(name):
    if name not in specs:
        above = name.rpartition(".")[0]
        parent = spec_of(above)
        locations = parent and parent.submodule_search_locations
        if locations is not None and above not in sys.modules:  # where a namespace package looks it up
            sys.modules[above] = types.ModuleType(above)
            sys.modules[above].__path__ = locations
        specs[name] = find(name, locations) if locations is not None else None
    return specs[name]

def described(name):
    spec = spec_of(name)
    if spec is None or not spec.has_location:
        return None
    loader, current = spec.loader, None
    if isinstance(loader, importlib.machinery.SourceFileLoader):
        try:
            source = loader.source_to_code(loader.get_data(spec.origin), spec.origin)
            current = loader.get_code(name) == source
        except (SyntaxError, ValueError, EOFError, TypeError):
            current = False
    return {"origin": spec.origin, "cached": spec.cached, "current": current}

copies = [os.path.realpath(entry) for entry in sys.path if os.path.isfile(os.path.join(entry, package, "__init__.py"))]
found = {name: described(name) for name in [package, *modules]}
json.dump({"python": sys.version.split()[0], "copies": copies, "modules": found}, sys.stdout)
"""


class Shadow(NamedTuple):
    """Something that runs instead of a file.

    Args:
        path: The file, in the git layout.
        by: The file that runs, or None where nothing does.
        detail: Why, one sentence.
        is_bytecode: Whether it is bytecode, which can be removed.
    """

    path: str
    by: Path | None
    detail: str
    is_bytecode: bool = False


class Running(NamedTuple):
    """The package that an interpreter finds.

    Args:
        python: The interpreter, as it was given.
        version: Its version.
        package: The folder of the package.
        copies: Folders of ``sys.path`` that have the package; the interpreter uses one.
        modules: What it finds for each module: ``origin``, ``cached`` and ``current``, or None.
    """

    python: str
    version: str
    package: Path
    copies: tuple[str, ...]
    modules: dict[str, Any]

    def shadows(self, worktree: Worktree, paths: Iterable[str]) -> Iterator[Shadow]:
        """What runs instead of files of the package."""
        for path in paths:
            file, found = worktree.on_disk(path), self.modules.get(worktree.upstream.module(path))
            if not file.is_file():
                continue
            if found is None:
                yield Shadow(
                    path, None, f"{self.python} does not find {worktree.upstream.module(path)}, which is in {file}"
                )
            elif not _is_same(Path(found["origin"]), file):
                yield Shadow(path, Path(found["origin"]), f"{self.python} loads {found['origin']} instead of {file}")
            elif found["current"] is False:
                cached = Path(found["cached"] or file)
                yield Shadow(path, cached, f"{cached} was compiled from other bytes than {file} has", True)


def ask_interpreter(python: str, package: Package, paths: Iterable[str]) -> Running:
    """Ask an interpreter which files it would run; nothing is imported.

    Args:
        python: The interpreter's path or name.
        package: The package.
        paths: Files of the package, in the git layout.

    Raises:
        EnvironmentFault: There is no such interpreter, it failed, or it has no such package.
    """
    question = json.dumps([package.name, sorted({package.module(path) for path in paths})])
    try:
        output = process.run([python, "-", question], stdin=_PROBE.encode()).stdout
        answer: Any = json.loads(output.splitlines()[-1])  # a .pth file of the environment may print, too
    except process.ProcessFailed as error:
        raise EnvironmentFault(
            f"{python} cannot be asked what it runs",
            hint="name the Python interpreter that runs it: patchtool status --installed --python FILE",
            cause=error.cause,
        ) from error
    except (ValueError, IndexError) as error:
        raise EnvironmentFault(f"{python} did not answer what it runs", cause=str(error)) from error
    found = answer["modules"].pop(package.name)
    if found is None:
        raise EnvironmentFault(
            f"{python} (Python {answer['python']}) has no {package.name}",
            hint="name the interpreter that runs it: patchtool status --installed --python FILE",
        )
    folder = Path(found["origin"]).parent
    return Running(python, answer["python"], folder, tuple(dict.fromkeys(answer["copies"])), answer["modules"])


def shadows_beside(worktree: Worktree, paths: Iterable[str]) -> Iterator[Shadow]:
    """What any interpreter would run instead of files: extension modules, packages, bytecode with unchecked hashes."""
    for path in paths:
        file = worktree.on_disk(path)
        if not file.is_file() or file.suffix != ".py":
            continue
        for other in sorted(file.parent.glob(f"{file.stem}.*")):
            if other.suffix in _SUFFIXES:
                yield Shadow(path, other, f"the extension module {other} is loaded instead of {file}")
        if (file.with_suffix("") / "__init__.py").is_file():
            yield Shadow(path, file.with_suffix(""), f"the package {file.with_suffix('')} is loaded instead of {file}")
        for bytecode in compiled_from_other_bytes(file):
            yield Shadow(path, bytecode, f"{bytecode} was compiled from other bytes than {file} has, unchecked", True)


def _is_same(one: Path, other: Path) -> bool:
    return one.exists() and one.samefile(other)
