"""A prompt reads and writes the SSM states of a speculative pool in one layout."""

from patchtool.semantic import SemanticPatch, goal, guarded, param, replace

START = "OUT_, LAST_, CHUNKS_ = self.kernel_dispatcher.extend(ssm_states=SSM_, cache_indices=SLOTS_, **REST_)"
START_V_MAJOR = "OUT_, LAST_, CHUNKS_ = self.chunk_gdn(Q_, K_, V_, G_, BETA_, SSM_[SLOTS_], STARTS_)"
STORED = """
if LAST_ is not None:
    LAST_ = LAST_.to(SSM_.dtype, copy=False)
    SSM_[SLOTS_] = LAST_
"""
AGAIN = """
LAST_ = LAST_.to(SSM_.dtype, copy=False)
SSM_[SLOTS_] = LAST_
"""
TRANSPOSED = """
if not BATCH_.spec_algorithm.is_none():
    LAST_ = LAST_.transpose(-1, -2).to(SSM_.dtype, copy=False)
else:
    LAST_ = LAST_.to(SSM_.dtype, copy=False)
SSM_[SLOTS_] = LAST_
"""
VIEW = """
if not BATCH_.spec_algorithm.is_none():
    # The verify kernel wants the states transposed. What a prompt stores, the next
    # part of it and requests that reuse it read again: all through the same view.
    SSM_ = SSM_.transpose(-1, -2)
"""
TRACKED = """
if CHUNKS_ is not None:
    self._track_mamba_state_extend(BATCH_, CHUNKS_, SSM_, META_)
"""
PROMPT = guarded("not BATCH_.forward_mode.is_target_verify()")


class SpecStateLayout(SemanticPatch):
    """The verify kernel wants the transposed state, so a prompt works on a transposed view of the pool."""

    scope = "AscendGDNAttnBackend.forward_extend"
    roles = {"BATCH_": param("forward_batch", "batch", typed="ForwardBatch")}
    edit = replace(START + STORED + TRANSPOSED, VIEW + START + STORED, within=PROMPT)
    goals = (
        goal(
            "what a prompt leaves is stored as it was read",
            START + STORED + TRACKED,
            START + STORED + AGAIN + TRACKED,
            START_V_MAJOR + STORED + TRACKED,
            within=PROMPT,
        ),
    )
