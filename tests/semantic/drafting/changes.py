"""What diffs of forks do, as small files of our own before and after."""

# ruff: noqa: E501

from __future__ import annotations

from typing import NamedTuple

POOL = "python/sglang/srt/pool.py"
RUNNER = "python/sglang/srt/runner.py"
UTILS = "python/sglang/srt/utils.py"

POOL_TEXT = '''\
"""A pool of rows."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from typing import List, Optional

import torch

from sglang.srt.utils import align, is_npu

logger = logging.getLogger(__name__)

PAGE_SIZE = 64
MAX_ROWS = 4096


@dataclass
class PoolConfig:
    """How large a pool is."""

    size: int
    dtype: torch.dtype = torch.float16
    device: str = "cpu"


class Pool:
    """Rows of state."""

    page_size = PAGE_SIZE

    def __init__(self, config: PoolConfig, layers: int):
        self.size = config.size
        self.layers = layers
        self.rows = torch.zeros((layers, config.size), dtype=config.dtype)
        self.free = list(range(config.size))

    def available(self) -> int:
        return len(self.free)

    def alloc(self, count):
        if count > len(self.free):
            return None

        # the oldest rows first
        chosen = self.free[:count]
        self.free = self.free[count:]
        return torch.tensor(chosen)

    def release(self, indices):
        for index in indices:
            self.free.append(index)
        self.free.sort()

    def copy(self, source, target):
        for layer in range(self.layers):
            self.rows[layer, target] = self.rows[layer, source]
        logger.debug("copied %d rows", len(source))

    @property
    def full(self):
        return not self.free

    async def drain(self, queue):
        while True:
            item = await queue.get()
            if item is None:
                break
            self.release(item)

    def report(self, stream, verbose=False):
        stream.write(f"{self.available()} free")
        if verbose:
            stream.write(str(self.free))
        else:
            stream.write("...")
        return stream


def make_pool(size, layers=1):
    config = PoolConfig(size)
    return Pool(config, layers)


def load_rows(path):
    handle = open(path)
    data = handle.read()
    handle.close()
    return data.splitlines()
'''
RUNNER_TEXT = '''\
"""Runs batches."""

from sglang.srt.pool import Pool, make_pool


class Runner:
    def __init__(self, size):
        self.pool = make_pool(size)
        self.step = 0

    def run(self, batch):
        rows = self.prepare(batch)
        result = self.forward(batch, rows)
        self.step += 1
        return result

    def prepare(self, batch):
        return self.pool.alloc(len(batch))

    def forward(self, batch, rows):
        hidden = batch.embed(rows)
        hidden = hidden * 2
        return hidden

    def finish(self, batch, rows):
        self.pool.release(rows)
'''
UTILS_TEXT = '''\
"""Small helpers."""

import os


def align(value, page):
    return (value + page - 1) // page * page


def is_npu():
    return os.environ.get("DEVICE") == "npu"
'''
CLOCK = "python/sglang/srt/clock.py"
CLOCK_TEXT = '''\
"""A clock that nothing uses."""


def now():
    return 0
'''
TREE = {
    "python/sglang/__init__.py": "",
    "python/sglang/srt/__init__.py": "",
    POOL: POOL_TEXT,
    RUNNER: RUNNER_TEXT,
    UTILS: UTILS_TEXT,
    CLOCK: CLOCK_TEXT,
}


class Change(NamedTuple):
    """One change.

    Args:
        name: What it does.
        edits: Old and new text by path; an old text of "" for a new file, a new one of "" for a deleted file.
        reason: Part of the reason why it is not stated whole, or empty.
    """

    name: str
    edits: tuple[tuple[str, str, str], ...]
    reason: str = ""

    @property
    def before(self) -> dict[str, str | None]:
        return {path: TREE.get(path) for path, _, _ in self.edits}

    @property
    def after(self) -> dict[str, str | None]:
        texts: dict[str, str | None] = dict(self.before)
        for path, old, new in self.edits:
            text = texts[path]
            if text is None:
                texts[path] = new
            elif not new and old == text:
                texts[path] = None
            else:
                assert text.count(old) == 1, (self.name, old)
                texts[path] = text.replace(old, new)
        return texts


def change(name: str, *edits: tuple[str, str, str], reason: str = "") -> Change:
    return Change(name, edits, reason)


def pool(old: str, new: str) -> tuple[str, str, str]:
    return POOL, old, new


def runner(old: str, new: str) -> tuple[str, str, str]:
    return RUNNER, old, new


LOAD_ROWS = "\n\ndef load_rows(path):\n    handle = open(path)\n    data = handle.read()\n    handle.close()\n    return data.splitlines()\n"
IS_NPU = '    return os.environ.get("DEVICE") == "npu"\n'
CHANGES = [
    change("one line", pool("return len(self.free)\n", "return len(self.free) - 1\n")),
    change("a literal", pool('        stream.write("...")', '        stream.write("(more)")')),
    change("a condition", pool("if count > len(self.free):", "if count >= len(self.free):")),
    change("an operator", runner("hidden = hidden * 2", "hidden = hidden * 2 + 1")),
    change("a guard at the start", pool("    def release(self, indices):\n", "    def release(self, indices):\n        if indices is None:\n            return\n")),
    change("a guard with a comment", pool("        for layer in range(self.layers):\n", "        # nothing to copy\n        if len(source) == 0:\n            return\n        for layer in range(self.layers):\n")),
    change("a statement at the end", pool("        self.free.sort()\n", "        self.free.sort()\n        logger.debug(\"released\")\n")),
    change("a statement between", runner("        self.step += 1\n", "        self.pool.check(rows)\n        self.step += 1\n")),
    change("a statement in a loop", pool("            self.free.append(index)\n", "            self.seen(index)\n            self.free.append(index)\n")),
    change("a statement in an else", pool('            stream.write("...")\n', '            stream.write("...")\n            stream.flush()\n')),
    change("a block with blank lines around", pool("        return torch.tensor(chosen)\n", "        if self.full:\n            logger.warning(\"the pool is full\")\n\n        return torch.tensor(chosen)\n"), reason="blank lines"),
    change("a new branch", pool("        else:\n            stream.write(\"...\")", "        elif self.full:\n            stream.write(\"full\")\n        else:\n            stream.write(\"...\")")),
    change("an else", pool("            return None\n\n        # the oldest", "            return None\n        else:\n            logger.debug(\"enough\")\n\n        # the oldest")),
    change("a new method", pool("    @property\n    def full(self):", "    def used(self):\n        return self.size - len(self.free)\n\n    @property\n    def full(self):")),
    change("a new method at the end of a class", runner("        self.pool.release(rows)\n", "        self.pool.release(rows)\n\n    def close(self):\n        self.pool = None\n")),
    change("a new property", pool("    async def drain", "    @property\n    def empty(self):\n        return len(self.free) == self.size\n\n    async def drain")),
    change("a new static method", runner("    def run(self, batch):", "    @staticmethod\n    def is_idle(batch):\n        return not batch\n\n    def run(self, batch):")),
    change("a new coroutine", pool("    def report(self", "    async def fill(self, queue):\n        await queue.put(self.free)\n\n    def report(self")),
    change("a new function", pool("def load_rows(path):", "def small_pool():\n    return make_pool(PAGE_SIZE)\n\n\ndef load_rows(path):")),
    change("a new function with its import", pool("import os\nfrom dataclasses", "import math\nimport os\nfrom dataclasses"), pool("def load_rows(path):", "def page_count(size):\n    return math.ceil(size / PAGE_SIZE)\n\n\ndef load_rows(path):")),
    change("a new class", pool("class Pool:\n", "class Row:\n    \"\"\"One row.\"\"\"\n\n    def __init__(self, index):\n        self.index = index\n\n\nclass Pool:\n")),
    change("a new import and its use", pool("import os\nfrom dataclasses", "import math\nimport os\nfrom dataclasses"), pool("        chosen = self.free[:count]\n", "        chosen = self.free[: math.floor(count)]\n")),
    change("a name more from a module", pool("import align, is_npu", "import align, is_cuda, is_npu"), (UTILS, "def is_npu():", "def is_cuda():\n    return os.environ.get(\"DEVICE\") == \"cuda\"\n\n\ndef is_npu():")),
    change("an import that goes", pool("import logging\nimport os\n", "import logging\n")),
    change("a name less from a module", pool("from typing import List, Optional\n", "from typing import Optional\n")),
    change("a constant's value", pool("PAGE_SIZE = 64", "PAGE_SIZE = 128")),
    change("a new constant", pool("MAX_ROWS = 4096\n", "MAX_ROWS = 4096\nMIN_ROWS = 16\n")),
    change("a new class attribute", pool("    page_size = PAGE_SIZE\n", "    page_size = PAGE_SIZE\n    max_rows = MAX_ROWS\n")),
    change("a class attribute's value", pool("    page_size = PAGE_SIZE\n", "    page_size = 2 * PAGE_SIZE\n")),
    change("a dataclass field", pool("    device: str = \"cpu\"\n", "    device: str = \"cpu\"\n    pinned: bool = False\n")),
    change("a dataclass field's default", pool("    device: str = \"cpu\"\n", "    device: str = \"npu\"\n")),
    change("a decorator", pool("    def available(self)", "    @torch.no_grad()\n    def available(self)")),
    change("a type annotation", pool("def make_pool(size, layers=1):", "def make_pool(size: int, layers: int = 1) -> Pool:")),
    change("a parameter with a default", pool("def alloc(self, count):", "def alloc(self, count, strict=False):")),
    change("a parameter and its use", pool("    def alloc(self, count):\n        if count > len(self.free):", "    def alloc(self, count, spare=0):\n        if count + spare > len(self.free):")),
    change("an argument through three layers",
           pool("def alloc(self, count):", "def alloc(self, count, strict=False):"),
           pool("            return None\n\n        # the oldest", "            if strict:\n                raise ValueError(count)\n            return None\n\n        # the oldest"),
           runner("    def run(self, batch):\n        rows = self.prepare(batch)", "    def run(self, batch, strict=False):\n        rows = self.prepare(batch, strict=strict)"),
           runner("    def prepare(self, batch):\n        return self.pool.alloc(len(batch))", "    def prepare(self, batch, strict=False):\n        return self.pool.alloc(len(batch), strict=strict)")),
    change("a keyword argument of a call", pool("dtype=config.dtype)", "dtype=config.dtype, device=config.device)")),
    change("a moved statement", runner("        rows = self.prepare(batch)\n        result = self.forward(batch, rows)\n        self.step += 1\n", "        self.step += 1\n        rows = self.prepare(batch)\n        result = self.forward(batch, rows)\n")),
    change("a moved block", pool("        self.free = self.free[count:]\n        return torch.tensor(chosen)", "        result = torch.tensor(chosen)\n        self.free = self.free[count:]\n        return result")),
    change("a deleted statement", pool("        logger.debug(\"copied %d rows\", len(source))\n", "")),
    change("a deleted method", pool("    @property\n    def full(self):\n        return not self.free\n\n", "")),
    change("a deleted feature", runner("\n    def finish(self, batch, rows):\n        self.pool.release(rows)\n", ""), pool("    async def drain(self, queue):\n        while True:\n            item = await queue.get()\n            if item is None:\n                break\n            self.release(item)\n\n", "")),
    change("a deleted function", pool("\n\ndef load_rows(path):\n    handle = open(path)\n    data = handle.read()\n    handle.close()\n    return data.splitlines()\n", "")),
    change("a try around a call", pool("        self.free.sort()\n", "        try:\n            self.free.sort()\n        except TypeError as error:\n            logger.error(\"unsorted: %s\", error)\n")),
    change("a with", pool("    handle = open(path)\n    data = handle.read()\n    handle.close()\n", "    with open(path) as handle:\n        data = handle.read()\n")),
    change("a call under a condition", runner("        self.pool.release(rows)\n", "        if rows is not None:\n            self.pool.release(rows)\n")),
    change("a coroutine's body", pool("            item = await queue.get()\n", "            item = await queue.get()\n            logger.debug(\"got one\")\n")),
    change("an early return in a coroutine", pool("        while True:\n", "        if self.full:\n            return\n        while True:\n")),
    change("a property's body", pool("        return not self.free\n", "        return len(self.free) == 0\n")),
    change("a walrus", pool("        if count > len(self.free):\n", "        if count > (free := len(self.free)):\n            logger.debug(free)\n")),
    change("a comprehension", pool("        for index in indices:\n            self.free.append(index)\n", "        self.free += [index for index in indices if index >= 0]\n")),
    change("a conditional expression beside an ellipsis", pool('            stream.write("...")\n', '            stream.write("..." if self.free else "")\n')),
    change("a lambda beside an ellipsis", pool('            stream.write("...")\n', '            stream.write("...")\n            self.later = lambda: {row: 0 for row in self.free}\n')),
    change("a docstring", runner("    def finish(self, batch, rows):\n", "    def finish(self, batch, rows):\n        \"\"\"Give the rows back.\"\"\"\n")),
    change("two places in one function", runner("        hidden = batch.embed(rows)\n        hidden = hidden * 2\n        return hidden", "        hidden = batch.embed(rows, self.step)\n        hidden = hidden * 2\n        return hidden.contiguous()")),
    change("two functions", runner("return self.pool.alloc(len(batch))", "return self.pool.alloc(len(batch) + 1)"), runner("        self.pool.release(rows)", "        self.pool.release(rows[1:])")),
    change("two files", pool("return len(self.free)\n", "return len(self.free) - 1\n"), runner("        self.step += 1\n", "        self.step += len(batch)\n")),
    change("a new file", ("python/sglang/srt/timer.py", "", "\"\"\"A clock.\"\"\"\n\nimport time\n\n\ndef now():\n    return time.time()\n")),
    change("a new file and its import", ("python/sglang/srt/timer.py", "", "def now():\n    return 0\n"),
           runner("from sglang.srt.pool", "from sglang.srt.timer import now\nfrom sglang.srt.pool"), runner("        self.step += 1\n", "        self.step += 1\n        self.last = now()\n")),
    change("a renamed local", runner("        result = self.forward(batch, rows)\n        self.step += 1\n        return result", "        output = self.forward(batch, rows)\n        self.step += 1\n        return output")),
    change("a field of the instance", pool("        self.layers = layers\n", "        self.layers = layers\n        self.peak = 0\n")),
    change("a base class", runner("class Runner:", "class Runner(Base):"), runner("        self.step = 0\n", "        self.step = 0\n        super().__init__()\n"), reason="Base"),
    change("a comment only", pool("        # the oldest rows first\n", "        # the oldest rows go first\n"), reason="comments"),
    change("a function that moves to another file", pool(LOAD_ROWS, ""), pool("import align, is_npu", "import align, is_npu, load_rows"), (UTILS, IS_NPU, IS_NPU + LOAD_ROWS)),
    change("a renamed method", runner("    def prepare(self, batch):", "    def plan(self, batch):"), runner("self.prepare(batch)", "self.plan(batch)")),
    change("a renamed function of two files", pool("def make_pool(", "def build_pool("), runner("import Pool, make_pool", "import Pool, build_pool"), runner("make_pool(size)", "build_pool(size)")),
    change("a renamed constant", pool("PAGE_SIZE = 64", "PAGE = 64"), pool("page_size = PAGE_SIZE", "page_size = PAGE")),
    change("a renamed parameter", runner("    def forward(self, batch, rows):\n        hidden = batch.embed(rows)", "    def forward(self, batch, slots):\n        hidden = batch.embed(slots)")),
    change("a renamed field of the instance", runner("self.step = 0", "self.steps = 0"), runner("self.step += 1", "self.steps += 1")),
    change("a renamed field of a dataclass", pool("    size: int\n", "    rows: int\n"), pool("self.size = config.size", "self.size = config.rows"), pool("layers, config.size)", "layers, config.rows)"), pool("range(config.size)", "range(config.rows)")),
    change("a renamed class", pool("class PoolConfig:", "class Config:"), pool("config: PoolConfig,", "config: Config,"), pool("config = PoolConfig(size)", "config = Config(size)")),
    change("a renamed method with another change", runner("    def prepare(self, batch):\n        return self.pool.alloc(len(batch))", "    def plan(self, batch):\n        return self.pool.alloc(len(batch) + 1)"), runner("self.prepare(batch)", "self.plan(batch)")),
    change("a method whose readers are unknown objects", pool("    def alloc(self, count):", "    def take(self, count):")),
    change("a deleted file", (CLOCK, CLOCK_TEXT, "")),
]  # fmt: skip
