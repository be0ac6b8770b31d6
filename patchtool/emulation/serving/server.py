"""A Scheduler with the tiny model in this process, run by its own event loop."""

from __future__ import annotations

import contextlib
import inspect
import logging
import os
import tempfile
from array import array
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

from patchtool.emulation.serving.arguments import ServerShape, server_args
from patchtool.emulation.serving.dense import replace_experts
from patchtool.emulation.serving.draft_proposer import DraftProposer
from patchtool.emulation.serving.request_queue import AllFinished, RequestQueue
from patchtool.emulation.serving.weights import replace_dummy_weights
from patchtool.emulation.upstream import call_supported, import_srt, srt_member

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Tokens = Sequence[int]

_RANKS = ("gpu_id", "tp_rank", "moe_ep_rank", "pp_rank", "attn_cp_rank", "moe_dp_rank", "attn_dp_rank")


@dataclass(frozen=True)
class Visit:
    """A request, and when it comes and goes.

    Args:
        prompt: Token ids.
        count: Tokens to decode.
        joins: The iteration of the event loop in which it arrives, from 1.
        leaves: The iteration in which its client aborts it; None if it stays until it is finished.
    """

    prompt: Tokens
    count: int
    joins: int = 1
    leaves: int | None = None


@dataclass(frozen=True)
class ServedRequest:
    """The result of a request.

    Args:
        tokens: Output token ids.
        cached: Tokens of its prompt that the prefix cache had.
    """

    tokens: list[int]
    cached: int


class InProcessServer:
    """A Scheduler that serves requests without sockets.

    Args:
        drafts: Tokens to propose as drafts, by request name; None for a server without speculation.
        shape: How large it is, and how it schedules.
    """

    def __init__(self, drafts: Mapping[str, Tokens] | None = None, shape: ServerShape | None = None) -> None:
        shape = shape or ServerShape()
        os.environ |= {"ASCEND_USE_FIA": "1", "SGLANG_ENABLE_SPEC_V2": "1"}  # as upstream recommends on the device
        logging.disable(logging.WARNING)
        replace_experts()
        replace_dummy_weights()
        self.proposer = None
        if drafts is not None:
            self.proposer = DraftProposer(drafts, lambda: self._queue.running, shape.drafts)
        arguments = server_args(shape, speculative=drafts is not None)
        scheduler_class = import_srt("managers.scheduler").Scheduler
        ports = import_srt("server_args").PortArgs.init_new(arguments)
        self._copying_pools = _record_copying_pools()
        _publish_load_in_own_folder()
        scheduler = call_supported(
            scheduler_class, server_args=arguments, port_args=ports, dp_rank=None, **dict.fromkeys(_RANKS, 0)
        )
        self._scheduler, self._queue = scheduler, RequestQueue(scheduler)
        self._event_loop = scheduler.run_event_loop
        self._verified = 0

    @property
    def can_show_kv_copy(self) -> bool:
        """Whether a pool was created with its KV copy enabled, or can disable it itself."""
        pool = import_srt("hardware_backend.npu.memory_pool_npu").NPUMHATokenToKVPool
        return bool(self._copying_pools) or "_init_kv_copy_and_warmup" in vars(pool)

    @property
    def accepted_length(self) -> float:
        """Mean tokens per verify step and request; a request's first token comes from its prompt and does not count."""
        return self._verified / self.proposer.rows if self.proposer and self.proposer.rows else 0.0

    def parts(self) -> list[str]:
        """Names of the release's classes in use: scheduler, prefix cache, worker and, if any, graph runner."""
        scheduler = self._scheduler
        runner = scheduler.tp_worker.model_runner
        worker = getattr(scheduler, "draft_worker", None) or scheduler.tp_worker
        graphs = getattr(runner, "decode_cuda_graph_runner", None) or getattr(runner, "graph_runner", None)
        return [type(part).__name__ for part in (scheduler, scheduler.tree_cache, worker, graphs) if part is not None]

    def serve(self, prompts: Mapping[str, Tokens], count: int) -> dict[str, ServedRequest]:
        """Run the Scheduler's event loop until every request is finished.

        Args:
            prompts: Token ids by request name.
            count: Tokens to decode of each request.

        Raises:
            RuntimeError: The Scheduler does not finish.
        """
        return self.serve_visits({name: Visit(prompt, count) for name, prompt in prompts.items()})

    def serve_visits(self, visits: Mapping[str, Visit]) -> dict[str, ServedRequest]:
        """Run the Scheduler's event loop, with requests that join and leave, until those that stay are finished.

        Args:
            visits: By request name.

        Raises:
            RuntimeError: The Scheduler does not finish.
        """
        messages = [(visit.joins, _request(name, visit.prompt, visit.count)) for name, visit in visits.items()]
        leaving = {name: visit.leaves for name, visit in visits.items() if visit.leaves is not None}
        abort = import_srt("managers.io_struct").AbortReq
        messages += [(leaves, abort(rid=name)) for name, leaves in leaving.items()]
        self._queue.submit(messages, visits.keys() - leaving.keys())
        with contextlib.suppress(AllFinished):
            self._event_loop()
        requests = {name: self._queue.requests[name] for name in visits if name in self._queue.requests}
        self._verified += sum(max(len(request.output_ids) - 1, 0) for request in requests.values())
        return {name: ServedRequest(list(each.output_ids), int(each.cached_tokens)) for name, each in requests.items()}


def _publish_load_in_own_folder() -> None:
    """Keep the file in which a Scheduler publishes its load out of ``/dev/shm``, where a cell would leave it behind."""
    if srt_member("managers.load_snapshot", "shm_path_for"):
        import_srt("managers.load_snapshot").shm_path_for = lambda _: f"{tempfile.gettempdir()}/load"


def _record_copying_pools() -> list[str]:
    """Record pools that are created with their KV copy enabled."""
    pool = import_srt("hardware_backend.npu.memory_pool_npu").NPUMHATokenToKVPool
    original, recorded = pool.__init__, []

    @wraps(original)
    def recording_init(self: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("enable_kv_cache_copy"):
            recorded.append(type(self).__name__)
        original(self, *args, **kwargs)

    pool.__init__ = recording_init
    return recorded


def _request(name: str, prompt: Tokens, count: int) -> Any:
    """A request in the form in which the tokenizer's process sends it."""
    params = import_srt("sampling.sampling_params").SamplingParams(
        temperature=0.0, max_new_tokens=count, ignore_eos=True
    )
    params.normalize(None)
    request_class = import_srt("managers.io_struct").TokenizedGenerateReqInput
    parameters = inspect.signature(request_class).parameters
    ids: Any = array("q", prompt) if "array" in str(parameters["input_ids"].annotation) else list(prompt)
    required = [parameter.name for parameter in parameters.values() if parameter.default is parameter.empty]
    values = {"rid": name, "input_text": "", "input_ids": ids, "sampling_params": params, "stream": False}
    values |= {"return_logprob": False, "logprob_start_len": -1, "top_logprobs_num": 0}
    return request_class(**{**dict.fromkeys(required), **values})
