"""One in-process Scheduler with the tiny model, driven by its own event loop."""

from __future__ import annotations

import contextlib
import inspect
import logging
import os
from array import array
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

from patchtool.emulation.serving.arguments import server_args
from patchtool.emulation.serving.dense import use_dense_layers
from patchtool.emulation.serving.draft_proposer import DraftProposer
from patchtool.emulation.serving.request_queue import AllFinished, RequestQueue
from patchtool.emulation.serving.weights import fill
from patchtool.emulation.upstream import call_supported, import_srt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Tokens = Sequence[int]

_RANKS = dict.fromkeys(
    ("gpu_id", "tp_rank", "moe_ep_rank", "pp_rank", "attn_cp_rank", "moe_dp_rank", "attn_dp_rank"), 0
)


@dataclass(frozen=True)
class ServedRequest:
    """What a request got.

    Args:
        tokens: Its output.
        cached: Tokens of its prompt that the prefix cache had.
    """

    tokens: list[int]
    cached: int


class InProcessServer:
    """A Scheduler and the requests that it is given.

    Args:
        drafts: Tokens that each request is known to get, the drafts of a speculative server; None decodes plainly.
        sizes: Captured batch sizes; none for eager.
    """

    def __init__(self, drafts: Mapping[str, Tokens] | None = None, sizes: tuple[int, ...] = ()) -> None:
        os.environ |= {"ASCEND_USE_FIA": "1", "SGLANG_ENABLE_SPEC_V2": "1"}  # as upstream recommends on the device
        logging.disable(logging.WARNING)
        use_dense_layers()
        self.proposer = None if drafts is None else DraftProposer(drafts, lambda: self._queue.running)
        arguments = server_args(speculative=drafts is not None, sizes=sizes)
        managers = import_srt("managers.scheduler")
        ports = import_srt("server_args").PortArgs.init_new(arguments)
        asked = _watch_copies()
        scheduler = call_supported(managers.Scheduler, server_args=arguments, port_args=ports, dp_rank=None, **_RANKS)
        fill(scheduler.tp_worker.model_runner.model)
        self._scheduler, self._queue = scheduler, RequestQueue(scheduler)
        self._verified = 0
        self._copying_pools = asked

    @property
    def can_show_kv_copy(self) -> bool:
        """Whether a pool is asked to be ready to copy keys and values, or says itself that it is not."""
        pool = import_srt("hardware_backend.npu.memory_pool_npu").NPUMHATokenToKVPool
        return bool(self._copying_pools) or "_init_kv_copy_and_warmup" in vars(pool)

    @property
    def accepted_length(self) -> float:
        """Tokens that a verify step gave a request, on average; the first one of each comes from its prompt."""
        return self._verified / self.proposer.rows if self.proposer and self.proposer.rows else 0.0

    def parts(self) -> dict[str, str]:
        """Names of the release's classes that are at work."""
        scheduler = self._scheduler
        runner = scheduler.tp_worker.model_runner
        graphs = getattr(runner, "decode_cuda_graph_runner", None) or getattr(runner, "graph_runner", None)
        made = {
            "scheduler": scheduler,
            "prefix cache": scheduler.tree_cache,
            "worker": getattr(scheduler, "draft_worker", None) or scheduler.tp_worker,
            "graph runner": graphs,
        }
        return {name: type(part).__name__ for name, part in made.items() if part is not None}

    def serve(self, prompts: Mapping[str, Tokens], count: int) -> dict[str, ServedRequest]:
        """Let the Scheduler's own loop run until every request has its tokens.

        Args:
            prompts: Token ids by request.
            count: Tokens of each.

        Raises:
            RuntimeError: It did not come to an end.
        """
        arrivals = [_request(name, prompt, count) for name, prompt in prompts.items()]
        self._queue.open(arrivals, prompts.keys())
        with contextlib.suppress(AllFinished):
            self._scheduler.event_loop_normal()
        requests = {name: self._queue.requests[name] for name in prompts}
        self._verified += sum(len(request.output_ids) - 1 for request in requests.values())
        return {
            name: ServedRequest(list(request.output_ids), int(request.cached_tokens))
            for name, request in requests.items()
        }


def _watch_copies() -> list[str]:
    """Record pools that are made with their copy of keys and values on."""
    pool = import_srt("hardware_backend.npu.memory_pool_npu").NPUMHATokenToKVPool
    plain, asked = pool.__init__, []

    @wraps(plain)
    def make(self: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("enable_kv_cache_copy"):
            asked.append(type(self).__name__)
        plain(self, *args, **kwargs)

    pool.__init__ = make
    return asked


def _request(name: str, prompt: Tokens, count: int) -> Any:
    """A request as the tokenizer's process would send it."""
    params = import_srt("sampling.sampling_params").SamplingParams(
        temperature=0.0, max_new_tokens=count, ignore_eos=True
    )
    params.normalize(None)
    make = import_srt("managers.io_struct").TokenizedGenerateReqInput
    known = inspect.signature(make).parameters
    ids: Any = array("q", prompt) if "array" in str(known["input_ids"].annotation) else list(prompt)
    offers = {"rid": name, "input_text": "", "input_ids": ids, "sampling_params": params, "logprob_start_len": -1}
    offers |= {"return_logprob": False, "top_logprobs_num": 0, "stream": False}
    required = [each.name for each in known.values() if each.default is each.empty]
    return make(**{**dict.fromkeys(required), **offers})
