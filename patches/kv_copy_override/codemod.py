"""The NPU's paged KV pool leaves out the KV copy that it has no buffers for."""

from patchtool.semantic import SemanticPatch, add_method, called, method, never, unmentioned

BASE = "python/sglang/srt/mem_cache/memory_pool.py"


class KvCopyOverride(SemanticPatch):
    """The base class reads strides and pointers that the NPU's ``_create_buffers`` never builds."""

    scope = "NPUMHATokenToKVPool"
    extends = "MHATokenToKVPool"
    defect = unmentioned("_init_kv_copy_and_warmup", "_kv_copy_config", "data_strides", "data_ptrs")
    edit = add_method(
        """
        def _init_kv_copy_and_warmup(self):
            # The base class reads data_strides and data_ptrs, which the paged NPU
            # buffers never build.
            self._kv_copy_config = None
        """,
        behind="_create_buffers",
    )
    goals = (method("KV copy stays off", "def _init_kv_copy_and_warmup(self): self._kv_copy_config = None"),)
    never = (never("the class also sets KV copy up itself", "ANY_._kv_copy_config = CONFIG_"),)
    facts = (
        called(BASE, "MHATokenToKVPool._init_kv_copy_and_warmup", "the method has no effect where nothing calls it"),
    )
