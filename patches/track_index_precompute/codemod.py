"""The conv slots to track are looked up once per batch, not in every linear-attention layer."""

from patchtool.semantic import (
    Fact,
    Methods,
    Rule,
    SemanticPatch,
    add_method,
    any_branch,
    assignable,
    given,
    goal,
    guarded,
    holds,
    insert_after,
    method,
    never,
    one_of,
    param,
    replace,
    unmentioned,
    varies,
)

METADATA = "python/sglang/srt/layers/attention/mamba/mamba2_metadata.py"
BASE = "python/sglang/srt/layers/attention/hybrid_linear_attn_backend.py"


class TrackIndexPrecompute(SemanticPatch):
    """``any()`` and ``nonzero()`` each wait for the device; two per layer become one per batch."""

    names = {"PREPARE_": "_prepare_mamba_track_metadata"}
    rules = (
        Rule(
            "look-up",
            scope="AscendGDNAttnBackend",
            defect=unmentioned("PREPARE_", "conv_states_mask_indices"),
            never=(
                never("the class also makes the metadata itself", "ANY_.forward_metadata = METADATA_"),
                never("the class also sets the flag", "ANY_.has_mamba_track_mask = FLAG_"),
                never("the class also writes the slots elsewhere", "ANY_.conv_states_mask_indices = SLOTS_"),
            ),
            edit=add_method(
                """
                def PREPARE_(self, forward_batch):
                    # nonzero() waits for the device: once per batch here instead of once per layer.
                    if self.forward_metadata.has_mamba_track_mask:
                        rows = forward_batch.mamba_track_mask.nonzero(as_tuple=True)[0]
                        self.forward_metadata.conv_states_mask_indices = (
                            forward_batch.mamba_track_indices[rows]
                        )
                """,
                behind="__init__",
            ),
            goals=(
                method(
                    "one method looks the slots up",
                    """
                    def PREPARE_(self, BATCH_):
                        if self.forward_metadata.has_mamba_track_mask:
                            ROWS_ = BATCH_.mamba_track_mask.nonzero(as_tuple=True)[0]
                            self.forward_metadata.conv_states_mask_indices = BATCH_.mamba_track_indices[ROWS_]
                    """,
                ),
            ),
        ),
        Rule(
            "layer",
            scope="AscendGDNAttnBackend.forward_extend",
            given=(given("metadata of the batch", "METADATA_ = self.forward_metadata"),),
            edit=replace(
                """
                if BATCH_.mamba_track_mask is not None and BATCH_.mamba_track_mask.any():
                    SLOTS_ = BATCH_.mamba_track_indices
                    TRACKED_ = GATHERED_
                    ROWS_ = BATCH_.mamba_track_mask.nonzero(as_tuple=True)[0]
                    STATES_[SLOTS_[ROWS_]] = TRACKED_
                """,
                """
                if METADATA_.has_mamba_track_mask:
                    TRACKED_ = GATHERED_
                    STATES_[
                        METADATA_.conv_states_mask_indices
                    ] = TRACKED_
                """,
                within=any_branch(),
                GATHERED_=holds("METADATA_.track_conv_indices"),
            ),
            goals=(
                goal(
                    "the layer uses the slots as they were looked up",
                    """
                    if METADATA_.has_mamba_track_mask:
                        TRACKED_ = GATHERED_
                        STATES_[METADATA_.conv_states_mask_indices] = TRACKED_
                    """,
                    GATHERED_=one_of(
                        "MIXED_[:, METADATA_.track_conv_indices].transpose(0, 1)",
                        "MIXED_[METADATA_.track_conv_indices]",
                    ),
                    STATES_=one_of("CACHE_.conv[NUMBER_].transpose(1, 2)", "CACHE_.conv[NUMBER_]"),
                ),
            ),
            never=(
                never("the layer still reads the mask itself", "ANY_.mamba_track_mask"),
                never("the layer looks the slots up itself", "self.PREPARE_(*ARGUMENTS_)"),
                never("the layer resets a tensor", "ANY_.zero_()"),
                never("the layer fills a tensor", "ANY_.fill_(VALUE_)"),
                never("the layer overwrites a tensor", "ANY_[:] = VALUE_"),
            ),
        ),
        Rule(
            "hooks",
            scope="AscendGDNAttnBackend",
            methods=Methods(
                "init_forward_metadata*",
                having=param("forward_batch", typed="ForwardBatch"),
                otherwise=("bs",),
                hole="HOOK_",
                role="BATCH_",
                expected=("init_forward_metadata",),
            ),
            defect=unmentioned("PREPARE_", "conv_states_mask_indices"),
            edit=insert_after("super().HOOK_(*ARGUMENTS_)", "self.PREPARE_(BATCH_)"),
            goals=(
                goal(
                    "every hook that has the batch looks the slots up",
                    "self.PREPARE_(BATCH_)",
                    within=guarded("self.forward_metadata.has_mamba_track_mask"),
                    behind="super().HOOK_(*ARGUMENTS_)",
                ),
            ),
        ),
    )
    facts = (
        Fact(
            METADATA,
            "ForwardMetadata",
            "has_mamba_track_mask: TYPE_ = DEFAULT_",
            "the flag that replaces the look at the mask",
        ),
        assignable(METADATA, "ForwardMetadata.conv_states_mask_indices", "the slots are kept there"),
        Fact(
            BASE,
            "",
            "ForwardMetadata(*REST_, has_mamba_track_mask=FLAG_)",
            "somebody must set the flag",
            {"FLAG_": varies()},
        ),
    )
