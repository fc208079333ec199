"""Names of ``torch.nn.attention.flex_attention``."""

from typing import Any, NoReturn

from oneflow.mock_torch.missing import Missing, raise_missing

_DEFAULT_SPARSE_BLOCK_SIZE = 128
_REASON = (
    "blocks of masks are not skipped; `scaled_dot_product_attention` takes the whole mask, and XLA"
    " fuses what computes it"
)


class BlockMask(Missing):
    """The type of masks by blocks."""

    _reason = _REASON


class AuxRequest(Missing):
    """The type of further results of attention."""

    _reason = _REASON


def create_block_mask(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to make a mask of blocks.

    Raises:
        NotImplementedError: always.
    """
    raise_missing("create_block_mask", _REASON)


def flex_attention(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse attention with functions of scores.

    Raises:
        NotImplementedError: always.
    """
    raise_missing("flex_attention", _REASON)


__all__ = [
    "_DEFAULT_SPARSE_BLOCK_SIZE",
    "AuxRequest",
    "BlockMask",
    "create_block_mask",
    "flex_attention",
]
