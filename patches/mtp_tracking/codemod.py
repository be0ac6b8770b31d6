"""After an MTP verify, the state is also committed to the slots that the prefix cache tracks."""

from patchtool.semantic import (
    SemanticPatch,
    fixed,
    given,
    goal,
    guarded,
    insert_before,
    of_parameter,
    of_self,
    one_of,
    only,
    param,
    same_rows,
    unread,
)

OWN_ROLLBACK = "conv_state_rollback(CONV_, OWN_, LAST_, DRAFT_, *ALSO_)"
IF_OWN = guarded(present=("OWN_", "LAST_"))
IF_TRACKED = guarded(present=("TRACK_", "STEPS_", "OWN_", "LAST_"))


class MtpTracking(SemanticPatch):
    """The tracked copy of the conv window is taken before the request's own window is rolled back."""

    scope = "AscendHybridLinearAttnBackend.update_mamba_state_after_mtp_verify"
    signatures = (
        """
        move_intermediate_cache(
            ssm_states, intermediate_state_cache, dst_indices_tensor, src_indices_tensor, last_steps_tensor
        )
        """,
        "conv_state_rollback(conv_states, state_indices, step_indices, draft_token_num)",
    )
    spellings = {
        "X_ > -1": "X_ >= 0",
        "~(X_ < 0)": "X_ >= 0",
        "torch.where(X_ < 0, Y_, Z_)": "torch.where(X_ >= 0, Z_, Y_)",
    }
    roles = {"TRACK_": param("mamba_track_indices"), "STEPS_": param("mamba_steps_to_track")}
    given = (
        given(
            "own SSM commit",
            "move_intermediate_cache(SSM_, STEPWISE_, OWN_, ROWS_, LAST_, *MORE_)",
            within=IF_OWN,
            SSM_=one_of("CACHES_.temporal"),
            STEPWISE_=one_of("CACHES_.intermediate_ssm"),
            OWN_=of_self(),
            ROWS_=one_of("torch.arange(*COUNT_)"),
            LAST_=of_parameter(),
            MORE_=fixed(),
        ),
        given("own conv rollback", OWN_ROLLBACK, CONV_=one_of("CACHES_.conv[NUMBER_]"), ALSO_=fixed()),
    )
    defect = unread("TRACK_", "STEPS_")
    edit = insert_before(
        OWN_ROLLBACK,
        """
        if TRACK_ is not None and TRACK_.numel() > 0:
            # The prefix cache restores these slots later: they need the state at the
            # tracked step. SSM comes from the per-step intermediates, conv from the
            # request's own window while that still holds every draft token.
            track_slots = TRACK_.to(torch.int64)
            track_steps = STEPS_.to(torch.int64)
            move_intermediate_cache(
                SSM_,
                STEPWISE_,
                track_slots,
                ROWS_,
                track_steps,
                *MORE_,
            )
            tracked_rows = track_steps >= 0
            CONV_[:, track_slots[tracked_rows]] = CONV_[
                :, OWN_[tracked_rows]
            ]
            conv_state_rollback(
                CONV_,
                track_slots,
                track_steps,
                DRAFT_,
                *ALSO_,
            )

        """,
        within=IF_OWN,
    )
    goals = (
        goal(
            "SSM state is committed to the tracked slots",
            "move_intermediate_cache(SSM_, STEPWISE_, TRACK_, ROWS_, STEPS_, *MORE_)",
            within=IF_TRACKED,
        ),
        goal(
            "the own conv window is copied to the tracked slots before it is rolled back",
            "CONV_[:, TRACK_[STEPS_ >= 0]] = CONV_[:, OWN_[STEPS_ >= 0]]",
            "CONV_[:, TRACK_] = CONV_[:, torch.where(STEPS_ >= 0, OWN_, TRACK_)]",
            within=IF_TRACKED,
            ahead_of=OWN_ROLLBACK,
        ),
        goal(
            "the copy is rolled back to the tracked step",
            "conv_state_rollback(CONV_, TRACK_, STEPS_, DRAFT_, *ALSO_)",
            within=IF_TRACKED,
            behind="CONV_[:, WHERE_] = CONV_[:, WINDOW_]",
        ),
    )
    never = (
        same_rows("TRACK_", "STEPS_", "OWN_", "ROWS_", "LAST_"),
        only("the SSM state is also used in another way", "SSM_", "SSM_ = SOURCE_", "SSM_.shape"),
        only("the intermediates are also used in another way", "STEPWISE_", "STEPWISE_ = SOURCE_", "STEPWISE_.shape"),
        only("the conv window is also used in another way", "CONV_", "CONV_ = SOURCE_", "CONV_.shape"),
    )
