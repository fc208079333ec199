"""``torch.cuda.jiterator``: kernels written in C++ as texts."""

from __future__ import annotations

from typing import Any, NoReturn

from oneflow.mock_torch.missing import raise_missing

_REASON = "kernels in C++ are not compiled; functions of tensors are, as they are written"


def _create_jit_fn(code_string: str, **kwargs: Any) -> NoReturn:
    """Refuse a kernel with one result."""
    raise_missing("torch.cuda.jiterator", _REASON)


def _create_multi_output_jit_fn(code_string: str, num_outputs: int, **kwargs: Any) -> NoReturn:
    """Refuse a kernel with several results."""
    raise_missing("torch.cuda.jiterator", _REASON)


__all__: list[str] = []
