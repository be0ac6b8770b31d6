"""The real sources of the four patches, and the lines that the patches replace."""

from pathlib import Path

from patchtool.domain.patch import Judgement
from tests.semantic.patches import mutate
from tests.semantic.trees import INFOS, WheelTree, judge

SSM_LAYOUT, MTP_TRACKING, KV_COPY, TRACK_INDEX = (
    "ssm_index_layout",
    "mtp_tracking",
    "kv_copy_override",
    "track_index_precompute",
)
REPLAY = "AscendMambaAttnBackendBase._replay_metadata"
HYBRID = "AscendHybridLinearAttnBackend"
VERIFY = f"{HYBRID}.update_mamba_state_after_mtp_verify"
POOL = "NPUMHATokenToKVPool"
GDN = "AscendGDNAttnBackend"
EXTEND = f"{GDN}.forward_extend"
HOOK = f"{GDN}.init_forward_metadata"


class Upstream:
    """One release, in which one file can be changed."""

    def __init__(self, wheel: Path) -> None:
        self.tree = WheelTree.of(wheel)

    def text(self, patch: str) -> str:
        return (self.tree.read(INFOS[patch].targets[0]) or b"").decode()

    def judge(self, patch: str, data: bytes) -> Judgement:
        return judge(patch, self.tree.written({INFOS[patch].targets[0]: data}))

    def result(self, patch: str, data: bytes) -> bytes:
        """The result of a patch on a file."""
        return self.judge(patch, data).contents[INFOS[patch].targets[0]] or b""


def replaced_lines(patch: str, data: bytes) -> range:
    """Indices of the lines that a patch may remove."""
    text = data.decode("utf-8-sig")
    if patch == SSM_LAYOUT:
        first = mutate.statement(text, REPLAY, "arange")
        last = [
            s
            for s in mutate.statements(mutate.definition(text, REPLAY))
            if mutate.mentions(s, "state_indices_list_gdn")
        ]
        return range(mutate.span(first)[0], mutate.span(last[1])[1])
    if patch == TRACK_INDEX:
        return range(*mutate.span(mutate.statement(text, EXTEND, "mamba_track_mask")))
    return range(0)


def lost_lines(patch: str, before: bytes, after: bytes) -> list[bytes]:
    """Lines outside the replaced ones that are not preserved, in order and byte for byte."""
    lines = before.splitlines(keepends=True)
    replaced = replaced_lines(patch, before)
    new = iter(after.splitlines(keepends=True))
    return [raw for number, raw in enumerate(lines) if number not in replaced and not any(raw == line for line in new)]
