"""``torch._higher_order_ops.inline_asm_elementwise``."""

from __future__ import annotations

from typing import Any, NoReturn

from oneflow.mock_torch.missing import raise_missing


def inline_asm_elementwise(*inputs: Any, **options: Any) -> NoReturn:
    """Refuse to compute elements by instructions of a GPU.

    Raises:
        NotImplementedError: always.
    """
    raise_missing("inline_asm_elementwise", "XLA writes the instructions of GPUs")
