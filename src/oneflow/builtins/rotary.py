"""Rotary position embedding as one builtin."""

from __future__ import annotations

from oneflow.base.dtype import float32, float64
from oneflow.builtins.layouts import PLAIN, check_layout, heads_of, to_layout
from oneflow.functional.creation.factory_functions import arange
from oneflow.functional.registry import function
from oneflow.functional.shape.concat import cat, stack
from oneflow.tensor.tensor import Tensor

_MODES = ("plane", "interval")


@function(method=False, namespace="_C")
def fused_apply_rotary_emb(
    x: Tensor,
    *,
    cos: Tensor | None = None,
    sin: Tensor | None = None,
    position_ids: Tensor | None = None,
    x_layout: str = "BHMK",
    output_layout: str | None = None,
    mode: str = "plane",
    tensor_index: int | None = None,
    k_size: int | None = None,
    base: float = 1e4,
    rotary_size: int | None = None,
) -> Tensor:
    """Queries or keys whose features are turned, pair by pair, by an angle of their position.

    Pair i of n features has the angle ``position * base ** (-2 * i / n)``.

    Args:
        x: floating point tensor.
        cos: cosines of the angles, shape ``(positions, n)``: one for each feature; None: computed.
        sin: their sines.
        position_ids: integers of shape ``(B, 1, M)``, or ``(B, 2, M)``: two positions, by which the
            first and the second half of the features are turned. Default: 0, 1, 2, ...
        x_layout: where `x` has its dimensions: see `fused_multi_head_attention_inference_v2`.
        output_layout: the layout of the result; default `x_layout`.
        mode: ``"plane"``: feature i and feature ``i + n / 2`` are a pair; ``"interval"``:
            neighbours are.
        tensor_index: 0 the query, 1 the keys, 2 the values, of those that lie side by side.
        k_size: K, needed where H and K are one dimension.
        base: see above.
        rotary_size: how many features are turned; default all.

    Raises:
        RuntimeError: layouts, sizes or arguments do not fit.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(1, 2, 1, 4)
        >>> turned = flow._C.fused_apply_rotary_emb(x, x_layout="BMHK")[0, 1, 0]
        >>> [round(number, 2) for number in turned.tolist()]
        [-0.3, 0.99, 1.38, 1.01]
    """
    if mode not in _MODES or (cos is None) is not (sin is None):
        raise RuntimeError(
            f"`mode` must be one of {', '.join(_MODES)}, got {mode!r}; `cos` and `sin` must "
            "both be given, or neither"
        )
    output_layout = x_layout if output_layout is None else output_layout
    check_layout("output", output_layout, PLAIN)
    heads = heads_of("x", x, x_layout, part=tensor_index or 0, head_size=k_size)
    positions = _positions(heads, position_ids)
    rotary_size = heads.shape[-1] if rotary_size is None else rotary_size
    size = rotary_size // positions.shape[1]
    if rotary_size > heads.shape[-1] or rotary_size % (2 * positions.shape[1]):
        raise RuntimeError(
            f"`rotary_size` must be at most {heads.shape[-1]}, and a multiple of "
            f"{2 * positions.shape[1]}, got {rotary_size}"
        )
    results = []
    for index, part in enumerate(heads[..., :rotary_size].split(size, -1)):
        cos_part, sin_part = _cos_and_sin(part, positions[:, index], cos, sin, mode, base)
        results.append(part * cos_part + _rotate_half(part, mode) * sin_part)
    return to_layout(cat([*results, heads[..., rotary_size:]], -1), output_layout)


def _positions(x: Tensor, position_ids: Tensor | None) -> Tensor:
    """The positions, of shape ``(B or 1, 1 or 2, M)``."""
    batch, _, length, _ = x.shape
    if position_ids is None:
        return arange(length, device=x.device)[None, None]
    if (
        position_ids.ndim != 3
        or position_ids.shape[1] not in (1, 2)
        or position_ids.shape[::2] != (batch, length)
    ):
        raise RuntimeError(
            f"`position_ids` must have shape [{batch}, 1, {length}] or [{batch}, 2, {length}], got "
            f"{list(position_ids.shape)}"
        )
    return position_ids


def _cos_and_sin(
    x: Tensor, positions: Tensor, cos: Tensor | None, sin: Tensor | None, mode: str, base: float
) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the angles, for each feature of `x`: ``(B, 1, M, n)``."""
    size = x.shape[-1]
    if cos is not None and sin is not None:
        if cos.ndim != 2 or cos.shape != sin.shape or cos.shape[1] != size:
            raise RuntimeError(
                f"`cos` and `sin` must have shape [positions, {size}], got {list(cos.shape)} and "
                f"{list(sin.shape)}"
            )
        return cos[positions].unsqueeze(1), sin[positions].unsqueeze(1)
    dtype = float64 if x.dtype is float64 else float32
    pairs = arange(size // 2, dtype=dtype, device=x.device)
    inv_freq = base ** (-2 * pairs / size)
    angles = positions.unsqueeze(-1) * inv_freq
    both = cat([angles, angles], -1) if mode == "plane" else angles.repeat_interleave(2, -1)
    both = both.unsqueeze(1)
    return both.cos().to(x.dtype), both.sin().to(x.dtype)


def _rotate_half(x: Tensor, mode: str) -> Tensor:
    """The features with each pair (a, b) as (-b, a)."""
    if mode == "plane":
        first, second = x.chunk(2, -1)
        return cat([-second, first], -1)
    return stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
