"""Names that ``torch.nn.attention`` has beside `oneflow.nn.attention`."""

from oneflow.mock_torch.pytorch.nn.attention.kernels import (
    WARN_FOR_UNFUSED_KERNELS as WARN_FOR_UNFUSED_KERNELS,
    activate_flash_attention_impl as activate_flash_attention_impl,
    current_flash_attention_impl as current_flash_attention_impl,
    list_flash_attention_impls as list_flash_attention_impls,
    register_flash_attention_impl as register_flash_attention_impl,
    restore_flash_attention_impl as restore_flash_attention_impl,
)
