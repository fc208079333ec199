"""The gradients of frequent operators, by operators in PyTorch's order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import oneflow as flow
from oneflow.mock_torch.python_dispatch.nodes import DERIVATIVES, SavedCall
from oneflow.mock_torch.python_dispatch.operators import operator
from oneflow.tensor.tensor import Tensor

Derivative = Callable[[SavedCall, Any], Any]


def _scaled(grad: Tensor, factor: Any) -> Tensor:
    """The gradient of a tensor that was multiplied by a number."""
    number = factor.conjugate() if isinstance(factor, complex) else factor
    return grad if number == 1 else operator("mul", grad, number, overload="Scalar")


def _conjugate(x: Any) -> Any:
    return x.conj() if isinstance(x, Tensor) and x.is_complex() else x


def _zero(grad: Tensor) -> Tensor:
    return operator("scalar_tensor", 0.0, dtype=grad.dtype, device=grad.device)


def _where(condition: Tensor, grad: Tensor, other: Tensor) -> Tensor:
    return operator("where", condition, grad, other)


def _of_quotient(s: SavedCall, grad: Tensor) -> Tensor:
    divisor = s.other
    quotient = s.self / divisor
    return -grad * _conjugate(quotient) / _conjugate(divisor)


def _of_power(s: SavedCall, grad: Tensor) -> Tensor:
    if s.exponent == 0:
        return flow.zeros_like(grad)
    power = s.self.pow(s.exponent - 1)
    return grad * _conjugate(_scaled(power, s.exponent))


def _of_base(s: SavedCall, grad: Tensor) -> Tensor:
    exponent = s.exponent
    power = s.self.pow(operator("sub", exponent, 1, overload="Scalar"))
    product, zero = grad * (exponent * power), _zero(grad)
    return _where(operator("eq", exponent, 0.0), zero, product)


def _of_exponent(s: SavedCall, grad: Tensor) -> Tensor:
    power = s.result()
    at_least_zero = operator("ge", s.exponent, 0)
    is_zero = operator("logical_and", operator("eq", s.self, 0), at_least_zero)
    product = power * s.self.log()
    return grad * _where(is_zero, _zero(grad), product)


def _of_reciprocal(s: SavedCall, grad: Tensor) -> Tensor:
    square = _conjugate(s.result() * s.result())
    return -grad * square


def _of_clamp(s: SavedCall, grad: Tensor) -> Tensor:
    x, zero = s.self, _zero(grad)
    inside: Any = None if s.min is None else x >= s.min
    if s.max is not None:
        below = x <= s.max
        inside = below if inside is None else operator("logical_and_", inside, below)
    return _where(inside, grad, zero)


def _of_second_factor(s: SavedCall, grad: Tensor, first: str, second: str) -> Tensor:
    """The gradient of the second matrix of a product, in memory as the matrix is."""
    if s.is_column_major(second):
        return grad.t().mm(_conjugate(getattr(s, first))).t()
    return _conjugate(getattr(s, first).t()).mm(grad)


def _of_sum(s: SavedCall, grad: Tensor) -> Tensor:
    return _expand_gradient(s, grad, s.dim, s.keepdim)


def _expand_gradient(s: SavedCall, grad: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """A gradient in all places over which a reduction went."""
    shape = s.spec("self").shape
    if dim is not None and not keepdim and shape:
        for axis in sorted(axis % len(shape) for axis in _axes(dim, shape)):
            grad = grad.unsqueeze(axis)
    return grad.expand(shape)


def _axes(dim: Any, shape: tuple[int, ...]) -> list[int]:
    axes = [dim] if isinstance(dim, int) else list(dim or range(len(shape)))
    return [axis % len(shape) for axis in axes]


def _of_mean(s: SavedCall, grad: Tensor) -> Tensor:
    shape = s.spec("self").shape
    count = math.prod(shape[axis] for axis in _axes(s.dim, shape))
    return operator("div", _expand_gradient(s, grad, s.dim, s.keepdim), count, overload="Scalar")


def _of_as_strided(s: SavedCall, grad: Tensor) -> Tensor:
    """Sums at the places of the memory, of which each of the operand's numbers gets its share."""
    own = s.saved("self")
    start = own.offset if s.storage_offset is None else s.storage_offset
    views = (s.size, s.stride, start), (own.spec.shape, own.strides, own.offset)
    ends = [
        offset + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
        for sizes, strides, offset in views
    ]
    extent = 1 + max(0, *ends)
    memory = flow.arange(extent, device=grad.device)
    places, own_places = (flow.as_strided(memory, *view).reshape(-1) for view in views)
    sums = grad.new_zeros(extent).index_add(0, places, grad.reshape(-1))
    counts = grad.new_zeros(extent).index_add(0, own_places, grad.new_ones(own_places.shape))
    return (
        sums.index_select(0, own_places)
        .div(counts.index_select(0, own_places))
        .view(own.spec.shape)
    )


def _of_index_select(s: SavedCall, grad: Tensor) -> Tensor:
    zeros = grad.new_zeros(s.spec("self").shape)
    return operator("index_add", zeros, s.dim, s.index, grad)


def _of_index(s: SavedCall, grad: Tensor) -> Tensor:
    zeros = grad.new_zeros(s.spec("self").shape)
    return operator("index_put", zeros, s.indices, grad, True)


def _of_gather(s: SavedCall, grad: Tensor) -> Tensor:
    zeros = grad.new_zeros(s.spec("self").shape)
    return operator("scatter_add", zeros, s.dim, s.index, grad)


def _of_values(s: SavedCall, grads: Any) -> Tensor:
    """The gradient of a tensor for a function whose second result says which elements it took."""
    grad, places, shape = grads[0], s.result(1), s.spec("self").shape
    if places.ndim < len(shape) or getattr(s, "keepdim", None) is False:
        grad, places = grad.unsqueeze(s.dim), places.unsqueeze(s.dim)
    return operator("scatter", grad.new_zeros(shape), s.dim, places, grad)


def _of_cat(s: SavedCall, grad: Tensor) -> list[Tensor]:
    parts, start = [], 0
    for saved in s.tensors_of("tensors"):
        if saved.spec.shape == (0,) and grad.ndim > 1:  # joins whatever shape the others have
            parts.append(grad.new_zeros(0))
            continue
        size = saved.spec.shape[s.dim]
        parts.append(operator("slice", grad, s.dim, start, start + size))
        start += size
    return parts


def _of_stack(s: SavedCall, grad: Tensor) -> list[Tensor]:
    count = len(s.tensors_of("tensors"))
    return [operator("select", grad, s.dim, index) for index in range(count)]


def _filled(s: SavedCall, grads: Any) -> list[Tensor]:
    """The gradients of several results, zeros where none has arrived."""
    several = grads if isinstance(grads, list) else [grads]
    return [
        flow.zeros_like(s.result(index)) if grad is None else grad
        for index, grad in enumerate(several)
    ]


def _of_repeat(s: SavedCall, grad: Tensor) -> Tensor:
    shape, counts = s.spec("self").shape, s.repeats
    own = (1,) * (len(counts) - len(shape)) + tuple(shape)
    sizes: list[int] = []
    dims: list[int] = []
    for count, size in zip(counts, own, strict=True):
        if count != 1:
            dims.append(len(sizes))
            sizes.append(count)
        sizes.append(size)
    total = grad.view(sizes).sum(dims) if dims else grad
    return total if total.shape == shape else total.view(shape)


def _of_softmax(name: str) -> dict[str, Derivative]:
    return {"self": lambda s, g: operator(name, g, s.result(), s.dim, s.spec("self").dtype)}


def _permuted(s: SavedCall, grad: Tensor) -> Tensor:
    order = [axis % grad.ndim for axis in s.dims]
    return grad.permute(sorted(range(grad.ndim), key=order.__getitem__))


def _view_gradient(s: SavedCall, grad: Tensor) -> Tensor:
    return grad.reshape(list(s.spec("self").shape))


def _of_squeeze(s: SavedCall, grad: Tensor) -> Tensor:
    shape = s.spec("self").shape
    dims = s.dim if isinstance(s.dim, list) else [s.dim]
    for axis in sorted(axis % max(len(shape), 1) for axis in dims):
        if shape and shape[axis] == 1:
            grad = grad.unsqueeze(axis)
    return grad


def _of_slice(s: SavedCall, grad: Tensor) -> Tensor:
    shape = s.spec("self").shape
    end = shape[s.dim] if s.end is None else s.end
    return operator("slice_backward", grad, list(shape), s.dim, s.start or 0, end, s.step)


def _of_amax(s: SavedCall, grad: Tensor) -> Tensor:
    shape = s.spec("self").shape
    axes, x, extreme = _axes(s.dim, shape), s.self, s.result()
    sizes = [1 if axis in axes else size for axis, size in enumerate(shape)]
    if not s.keepdim and shape:
        extreme = extreme.view(sizes)
    is_extreme = operator("eq", extreme, x)
    if not s.keepdim and shape:
        grad = grad.view(sizes)
    return grad / is_extreme.sum(axes, keepdim=True) * is_extreme


def _of_logsumexp(s: SavedCall, grad: Tensor) -> Tensor:
    result, axes = s.result(), sorted(_axes(s.dim, s.spec("self").shape))
    if not s.keepdim:
        for axis in axes:
            grad = grad.unsqueeze(axis)
        for axis in axes:
            result = result.unsqueeze(axis)
    return grad * (s.self - result).exp()


def _of_variance(s: SavedCall, grad: Tensor) -> Tensor:
    shape = s.spec("self").shape
    axes = _axes(s.dim, shape)
    count = math.prod(shape[axis] for axis in axes)
    correction = 1 if s.correction is None else s.correction
    if s.dim is None or not shape:
        mean = s.self.mean()
    else:
        if not s.keepdim:
            for axis in sorted(axes):
                grad = grad.unsqueeze(axis)
        mean = s.self.mean(s.dim, keepdim=True)
    difference = s.self - mean
    factor = 2.0 / (count - correction) if count != correction else math.nan
    return operator("mul", grad, factor, overload="Scalar") * difference


def _of_deviation(s: SavedCall, grad: Tensor) -> Tensor:
    result = s.result()
    quotient = grad / operator("mul", result, 2, overload="Scalar")
    quotient = operator("masked_fill_", quotient, operator("eq", result, 0), 0)
    return _of_variance(s, quotient)


def _of_larger(name: str, comparison: str) -> Derivative:
    """The gradient of one of two numbers of which the larger, or smaller, is taken."""

    def of_operand(s: SavedCall, grad: Tensor) -> Tensor:
        half = operator("div", grad, 2, overload="Scalar")
        is_equal = operator("eq", s.self, s.other)
        part = _where(is_equal, half, grad)
        return operator("masked_fill_", part, operator(comparison, s.self, s.other), 0)

    of_operand.__name__ = name
    return of_operand


def _zeros(s: SavedCall, grad: Tensor) -> Tensor:
    return flow.zeros_like(grad)


def _same(s: SavedCall, grad: Tensor) -> Tensor:
    return grad


DERIVATIVES |= {
    "add": {"self": _same, "other": lambda s, g: _scaled(g, s.alpha)},
    "sub": {"self": _same, "other": lambda s, g: _scaled(-g, s.alpha)},
    "rsub": {"self": lambda s, g: _scaled(-g, s.alpha), "other": _same},
    "mul": {
        "self": lambda s, g: g * _conjugate(s.other),
        "other": lambda s, g: g * _conjugate(s.self),
    },
    "div.Tensor": {"self": lambda s, g: g / _conjugate(s.other), "other": _of_quotient},
    "neg": {"self": lambda s, g: -g},
    "abs": {"self": lambda s, g: g * s.self.sgn()},
    "exp": {"self": lambda s, g: g * _conjugate(s.result())},
    "log": {"self": lambda s, g: g / _conjugate(s.self)},
    "sqrt": {"self": lambda s, g: g / _scaled(_conjugate(s.result()), 2)},
    "rsqrt": {"self": lambda s, g: _scaled(s.result().pow(3), -0.5) * g},
    "reciprocal": {"self": _of_reciprocal},
    "sin": {"self": lambda s, g: g * _conjugate(s.self.cos())},
    "cos": {"self": lambda s, g: g * -_conjugate(s.self.sin())},
    "tanh": {"self": lambda s, g: operator("tanh_backward", g, s.result())},
    "sigmoid": {"self": lambda s, g: operator("sigmoid_backward", g, s.result())},
    "threshold": {"self": lambda s, g: operator("threshold_backward", g, s.self, s.threshold)},
    "index_fill": {
        "self": lambda s, g: g.index_fill(s.dim, s.index, 0),
        "value": lambda s, g: g.index_select(s.dim, s.index.unique()).sum(),
    },
    "im2col": {
        "self": lambda s, g: operator(
            "col2im",
            g,
            s.spec("self").shape[-2:],
            s.kernel_size,
            s.dilation,
            s.padding,
            s.stride,
        )
    },
    "col2im": {
        "self": lambda s, g: operator("im2col", g, s.kernel_size, s.dilation, s.padding, s.stride)
    },
    "as_strided": {"self": _of_as_strided},
    "relu": {"self": lambda s, g: operator("threshold_backward", g, s.result(), 0)},
    "erf": {"self": lambda s, g: _scaled((-(s.self.pow(2))).exp(), 2 / math.sqrt(math.pi)) * g},
    "pow.Tensor_Scalar": {"self": _of_power},
    "pow.Tensor_Tensor": {"exponent": _of_exponent, "self": _of_base},
    "clamp.default": {"self": _of_clamp},
    "where": {
        "self": lambda s, g: _where(s.condition, g, _zero(g)),
        "other": lambda s, g: _where(s.condition, _zero(g), g),
    },
    "masked_fill": {
        "self": lambda s, g: g.masked_fill(s.mask, 0),
        "value": lambda s, g: _where(s.mask, g, _zero(g)).sum(),
    },
    "addcmul": {
        "self": _same,
        "tensor1": lambda s, g: g * _scaled(_conjugate(s.tensor2), s.value),
        "tensor2": lambda s, g: g * _scaled(_conjugate(s.tensor1), s.value),
    },
    "lerp.Scalar": {
        "self": lambda s, g: _scaled(g, 1 - s.weight),
        "end": lambda s, g: _scaled(g, s.weight),
    },
    **{
        name: {"self": _zeros}
        for name in ("floor", "ceil", "round", "trunc", "sign", "zero", "fill.Scalar")
    },
    "fill.Tensor": {"self": _zeros, "value": lambda s, g: g.sum()},
    "copy": {"self": _zeros, "src": _same},
    "mm": {
        "other": lambda s, g: _of_second_factor(s, g, "self", "other"),
        "self": lambda s, g: g.mm(_conjugate(s.other.t())),
    },
    "addmm": {
        "mat1": lambda s, g: _scaled(g.mm(_conjugate(s.mat2.t())), s.alpha),
        "mat2": lambda s, g: _scaled(_of_second_factor(s, g, "mat1", "mat2"), s.alpha),
        "self": lambda s, g: _scaled(g, s.beta),
    },
    "bmm": {
        "other": lambda s, g: _conjugate(s.self.transpose(1, 2)).bmm(g),
        "self": lambda s, g: g.bmm(_conjugate(s.other.transpose(1, 2))),
    },
    "mv": {
        "self": lambda s, g: g.view(-1, 1) * _conjugate(s.other),
        "other": lambda s, g: _conjugate(s.self.t()).mv(g),
    },
    "dot": {
        "self": lambda s, g: g * _conjugate(s.other),
        "other": lambda s, g: g * _conjugate(s.self),
    },
    "view.default": {"self": _view_gradient},
    "_unsafe_view": {"self": _view_gradient},
    "t": {"self": lambda s, g: g.t()},
    "transpose": {"self": lambda s, g: g.transpose(s.dim0, s.dim1)},
    "permute": {"self": _permuted},
    "expand": {"self": _same},
    "unsqueeze": {"self": lambda s, g: operator("squeeze", g, s.dim)},
    "squeeze.dim": {"self": _of_squeeze},
    "squeeze.dims": {"self": _of_squeeze},
    "select": {
        "self": lambda s, g: operator(
            "select_backward", g, list(s.spec("self").shape), s.dim, s.index
        )
    },
    "slice": {"self": _of_slice},
    "split": {"self": lambda s, g: flow.cat(_filled(s, g), s.dim)},
    "split_with_sizes": {"self": lambda s, g: flow.cat(_filled(s, g), s.dim)},
    "unbind": {"self": lambda s, g: flow.stack(_filled(s, g), s.dim)},
    **{name: {"self": _same} for name in ("clone", "_to_copy", "alias", "lift_fresh")},
    "cat": {"tensors": _of_cat},
    "stack": {"tensors": _of_stack},
    "repeat": {"self": _of_repeat},
    "flip": {"self": lambda s, g: g.flip(s.dims)},
    "tril": {"self": lambda s, g: g.tril(s.diagonal)},
    "triu": {"self": lambda s, g: g.triu(s.diagonal)},
    "gather": {"self": _of_gather},
    "index_select": {"self": _of_index_select},
    "index": {"self": _of_index},
    "constant_pad_nd": {
        "self": lambda s, g: operator("constant_pad_nd", g, [-size for size in s.pad])
    },
    "sum.default": {"self": lambda s, g: g.expand(s.spec("self").shape)},
    "sum.dim_IntList": {"self": _of_sum},
    "mean.default": {
        "self": lambda s, g: operator(
            "div", g.expand(s.spec("self").shape), s.spec("self").numel, overload="Scalar"
        )
    },
    "mean.dim": {"self": _of_mean},
    "amax": {"self": _of_amax},
    "amin": {"self": _of_amax},
    "logsumexp": {"self": _of_logsumexp},
    "var.correction": {"self": _of_variance},
    "std.correction": {"self": _of_deviation},
    "maximum": {"other": _of_larger("other", "gt"), "self": _of_larger("self", "lt")},
    "minimum": {"other": _of_larger("other", "lt"), "self": _of_larger("self", "gt")},
    "cumsum": {"self": lambda s, g: g.flip(s.dim).cumsum(s.dim).flip(s.dim)},
    "_softmax": _of_softmax("_softmax_backward_data"),
    "_log_softmax": _of_softmax("_log_softmax_backward_data"),
    **{name: {"self": _of_values} for name in ("max.dim", "min.dim", "sort", "topk")},
    "embedding": {
        "weight": lambda s, g: operator(
            "embedding_dense_backward",
            g,
            s.indices,
            s.spec("weight").shape[0],
            s.padding_idx,
            s.scale_grad_by_freq,
        )
    },
    "native_dropout": {
        "input": lambda s, g: operator(
            "native_dropout_backward", g[0], s.result(1), 0.0 if s.p == 1 else 1 / (1 - s.p)
        )
    },
    "nll_loss_forward": {
        "self": lambda s, g: operator(
            "nll_loss_backward",
            g[0],
            s.self,
            s.target,
            s.weight,
            s.reduction,
            s.ignore_index,
            s.result(1),
        )
    },
}
