"""``torch.nn.attention.flex_attention``: attention with functions of scores and places.

The functions are called once, with places of all elements that broadcast against each other, and
XLA compiles what they compute. Blocks of a mask say which parts it leaves out; none is skipped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import oneflow as flow
from oneflow import Tensor

_DEFAULT_SPARSE_BLOCK_SIZE = 128
MaskFunction = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


class AuxRequest(NamedTuple):
    """The further results that attention gives.

    Attributes:
        lse: the logarithm of the sum of exponentials of each row of scores.
        max_scores: the largest score of each row.
    """

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """Further results of attention; None where `AuxRequest` does not name them.

    Attributes:
        lse: the logarithm of the sum of exponentials of each row of scores.
        max_scores: the largest score of each row.
    """

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Keep every score."""
    return flow.ones((), dtype=flow.bool, device=batch.device)


def and_masks(*mask_mods: MaskFunction) -> MaskFunction:
    """Return a function that keeps what all of some functions keep."""
    return _combined(mask_mods, flow.logical_and, start=True)


def or_masks(*mask_mods: MaskFunction) -> MaskFunction:
    """Return a function that keeps what any of some functions keeps."""
    return _combined(mask_mods, flow.logical_or, start=False)


def _combined(
    functions: tuple[MaskFunction, ...], combine: Callable[..., Tensor], *, start: bool
) -> MaskFunction:
    if not all(map(callable, functions)):
        raise RuntimeError(f"all of `mask_mods` must be functions, got {functions}")

    def combined(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
        result = flow.full((), start, dtype=flow.bool, device=batch.device)
        for function in functions:
            result = combine(result, function(batch, head, token_q, token_kv))
        return result

    return combined


def _places(sizes: tuple[int, ...], device: Any) -> list[Tensor]:
    """The places along each of four dimensions, which broadcast against each other."""
    shapes = [[-1 if axis == index else 1 for axis in range(4)] for index in range(4)]
    return [
        flow.arange(size, device=device).reshape(shape)
        for size, shape in zip(sizes, shapes, strict=True)
    ]


def create_mask(
    mod_fn: MaskFunction,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
) -> Tensor:
    """Return a mask as a tensor: whether each score is kept.

    Args:
        mod_fn: says so, by the places of the sample, head, query and key.
        B: how many samples there are, or None for one.
        H: how many heads there are, or None for one.
        Q_LEN: how many queries there are.
        KV_LEN: how many keys there are.
        device: where the mask is.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch.nn.attention.flex_attention import create_mask
        ...     create_mask(lambda b, h, q, k: q >= k, None, None, 2, 2).int().tolist()
        [[[[1, 0], [1, 1]]]]
    """
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    return mod_fn(*_places(sizes, device)).expand(sizes)


class BlockMask:
    """A mask, and which of its blocks keep anything; `create_block_mask` makes it.

    Args:
        mask_mod: says whether a score is kept.
        sizes: how many samples, heads, queries and keys there are.
        BLOCK_SIZE: how many queries and keys a block has.
        device: where the mask is.
    """

    def __init__(
        self,
        mask_mod: MaskFunction,
        sizes: tuple[int, int, int, int],
        BLOCK_SIZE: tuple[int, int],
        device: Any = None,
    ) -> None:
        self.mask_mod, self._sizes, self.BLOCK_SIZE = mask_mod, sizes, BLOCK_SIZE
        self._device = device

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The numbers of samples, heads, queries and keys."""
        return self._sizes

    @property
    def seq_lengths(self) -> tuple[int, int]:
        """The numbers of queries and keys."""
        return self._sizes[2:]

    def numel(self) -> int:
        """Return the number of scores."""
        return math.prod(self._sizes)

    def to_dense(self) -> Tensor:
        """Return 1 for each block that keeps a score, 0 for the others."""
        mask = create_mask(self.mask_mod, *self._sizes, self._device)
        rows, columns = self.BLOCK_SIZE
        lower, right = -mask.shape[2] % rows, -mask.shape[3] % columns
        padded = flow.nn.functional.pad(mask.int(), (0, right, 0, lower))
        blocks = padded.unflatten(3, (-1, columns)).unflatten(2, (-1, rows))
        return blocks.amax(dim=(3, 5))

    def sparsity(self) -> float:
        """The share of scores outside of blocks that keep any, in percent.

        Blocks count as whole, also where they stand out beyond the last query or key.
        """
        size_of_block = math.prod(self.BLOCK_SIZE)
        return 100 * (1 - self.to_dense().sum().item() * size_of_block / self.numel())

    def to(self, device: Any) -> BlockMask:
        """Return the mask on another device; what its function closes over stays."""
        return BlockMask(self.mask_mod, self._sizes, self.BLOCK_SIZE, device)

    def __repr__(self) -> str:
        return f"BlockMask(shape={self._sizes}, sparsity={self.sparsity():.2f}%)"


def create_block_mask(
    mask_mod: MaskFunction,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    **options: Any,
) -> BlockMask:
    """Return a mask for `flex_attention`.

    Args:
        mask_mod: says whether a score is kept, by the places of the sample, head, query and key,
            which are tensors that broadcast against each other.
        B: how many samples there are; None if the mask is the same for all.
        H: how many heads there are; None if the mask is the same for all.
        Q_LEN: how many queries there are.
        KV_LEN: how many keys there are.
        device: where the mask is.
        BLOCK_SIZE: how many queries and keys a block has.
        _compile: accepted; changes nothing.
        options: accepted; change nothing.
    """
    block = BLOCK_SIZE if isinstance(BLOCK_SIZE, tuple) else (BLOCK_SIZE, BLOCK_SIZE)
    return BlockMask(mask_mod, (B or 1, H or 1, Q_LEN, KV_LEN), block, device)


def _check_lengths(block_mask: BlockMask, lengths: tuple[int, ...]) -> None:
    """Refuse a mask for other numbers of queries and keys."""
    if block_mask.shape[2:] != tuple(lengths):
        raise ValueError(
            f"`block_mask` was made for {block_mask.shape[2]} queries and {block_mask.shape[3]} "
            f"keys, got {lengths[0]} and {lengths[1]}: make one with `create_block_mask`"
        )


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Tensor] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention whose scores a function changes, and a mask leaves out.

    Args:
        query: a tensor of shape (batch, heads, queries, size).
        key: a tensor of shape (batch, heads, keys, size).
        value: a tensor of shape (batch, heads, keys, size of values).
        score_mod: gives new scores of the scores, and the places of the sample, head, query and
            key, which are tensors that broadcast against them; so must the result.
        block_mask: says which scores are kept; a row that keeps none gives 0.
        scale: scores are multiplied by it; default: one over the root of the size.
        enable_gqa: whether several heads of `query` may share one of `key` and `value`.
        return_lse: the logarithm of the sum of exponentials of scores is returned, too.
        kernel_options: accepted; change nothing.
        return_aux: further results that are asked for.

    Returns:
        The attended values; with them the logarithm of sums, or an `AuxOutput`, if asked for.

    Raises:
        ValueError: the numbers of heads do not fit, or `block_mask` is for other lengths.

    Example:
        >>> import oneflow as flow
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch.nn.attention.flex_attention import flex_attention
        ...     x = flow.ones(1, 1, 2, 4)
        ...     flex_attention(x, x, x, lambda score, b, h, q, k: score + q - k).shape
        torch.Size([1, 1, 2, 4])
    """
    heads = query.shape[1]
    if key.shape[1] != heads:
        if not enable_gqa or heads % key.shape[1]:
            raise ValueError(
                f"`query` has {heads} heads and `key` {key.shape[1]}: with `enable_gqa` one must "
                "be a multiple of the other"
            )
        key, value = (
            operand.repeat_interleave(heads // operand.shape[1], 1) for operand in (key, value)
        )
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    # Scores are computed in single precision, as in PyTorch's kernels, unless they come in double.
    scores = (query @ key.mT).to(flow.promote_types(query.dtype, flow.float32)) * factor
    places = _places(tuple(scores.shape), query.device)
    if score_mod is not None:
        modified = flow.as_tensor(score_mod(scores, *places), device=scores.device)
        scores = modified.to(scores.dtype).expand(scores.shape)
    if block_mask is not None:
        _check_lengths(block_mask, scores.shape[2:])
        scores = scores.masked_fill(~block_mask.mask_mod(*places), -math.inf)
    largest = scores.detach().amax(-1, keepdim=True)
    empty = largest == -math.inf
    weights = (scores - largest.masked_fill(empty, 0.0)).exp()
    total = weights.sum(-1, keepdim=True)
    result = ((weights / total.masked_fill(empty, 1.0)).to(value.dtype) @ value).to(query.dtype)
    lse = (total.log() + largest).masked_fill(empty, -math.inf).squeeze(-1)
    if return_aux is not None:
        max_scores = largest.squeeze(-1) if return_aux.max_scores else None
        return result, AuxOutput(lse if return_aux.lse else None, max_scores)
    return (result, lse) if return_lse else result


__all__ = [
    "_DEFAULT_SPARSE_BLOCK_SIZE",
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]
