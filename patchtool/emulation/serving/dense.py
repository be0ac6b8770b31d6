"""The mixture of experts, which no patch touches, replaced by the release's own dense layer."""

from __future__ import annotations

from typing import Any

from patchtool.emulation.upstream import import_srt


def use_dense_layers() -> None:
    """Let the hybrid model build a dense layer wherever it would build experts."""
    model = import_srt("models.qwen3_next")
    dense = model.Qwen2MoeMLP

    class Dense(dense):  # type: ignore[misc, valid-type]
        """A dense layer that is made and called as a block of experts."""

        num_fused_shared_experts = 0

        def __init__(self, *, config: Any, quant_config: Any = None, prefix: str = "", **_: object) -> None:
            super().__init__(
                hidden_size=config.hidden_size,
                intermediate_size=config.intermediate_size,
                hidden_act=config.hidden_act,
                quant_config=quant_config,
                prefix=prefix,
            )

        def forward(self, x: Any, *_: object, **__: object) -> Any:
            """Run the dense layer; what is only for experts has no meaning here."""
            return super().forward(x)

    model.Qwen2MoeSparseMoeBlock = Dense
    model.Qwen3NextForCausalLM.get_model_config_for_expert_location = classmethod(lambda *_: None)
