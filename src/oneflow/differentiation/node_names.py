"""The names of the autograd graph's nodes: OneFlow's, and PyTorch's in its place.

PyTorch numbers the overloads of a function; a node here belongs to a primitive. If several
functions of PyTorch are the same primitive, the one that programs call most gives the name.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from oneflow.base.dtype import DType
from oneflow.base.program_name import PYTORCH, program_name
from oneflow.primitives.operation import Operation

# The names of PyTorch's nodes whose primitives have other names.
_NODE_NAMES = {
    "add_product": "AddcmulBackward0",
    "add_quotient": "AddcdivBackward0",
    "as_strided_update": "torch::autograd::CopySlices",
    "broadcast_to": "ExpandBackward0",
    "cast": "ToCopyBackward0",
    "concat": "CatBackward0",
    "conv": "ConvolutionBackward0",
    "conv_input_adjoint": "ConvolutionBackward0",
    "cosine_similarity": "SumBackward1",
    "cross": "LinalgCrossBackward0",
    "cross_entropy_probabilities": "DivBackward1",
    "cube": "PowBackward0",
    "det": "LinalgDetBackward0",
    "diagonal_update": "DiagEmbedBackward0",
    "dropout": "MulBackward0",
    "eigh": "LinalgEighBackward0",
    "einsum": "ViewBackward0",
    "fold_windows": "Col2ImBackward0",
    "gelu_tanh": "GeluBackward0",
    "logit_clamped": "LogitBackward0",
    "max_along": "MaxBackward0",
    "median": "MedianBackward1",
    "median_of_all": "MedianBackward0",
    "min_along": "MinBackward0",
    "nanmedian": "NanmedianBackward1",
    "nanmedian_of_all": "NanmedianBackward0",
    "norm2": "LinalgVectorNormBackward0",
    "normalize_fixed": "NativeBatchNormBackward0",
    "overwrite": "torch::autograd::CopyBackwards",
    "pad": "ConstantPadNdBackward0",
    "prelu": "PreluKernelBackward0",
    "qr": "LinalgQrBackward0",
    "select_update": "torch::autograd::CopySlices",
    "slice_update": "torch::autograd::CopySlices",
    "slogdet": "LinalgSlogdetBackward0",
    "softsign": "DivBackward0",
    "square": "PowBackward0",
    "svd": "LinalgSvdBackward0",
    "tanhshrink": "SubBackward0",
    "unfold_update": "torch::autograd::CopySlices",
    "unfold_windows": "Im2ColBackward0",
    "unit_vectors": "DivBackward0",
}

# The names of products by the numbers of dimensions.
_PRODUCTS: dict[tuple[int, ...], str] = {
    (1, 1): "DotBackward0",
    (2, 1): "MvBackward0",
    (2, 2): "MmBackward0",
    (3, 3): "BmmBackward0",
}


def _reduction(name: str, operation: Operation) -> str:
    return f"{name}Backward{0 if operation.out_specs[0].ndim == 0 else 1}"


def _extreme(name: str, operation: Operation) -> str:
    # The functions without dimensions have no argument `keepdim`.
    if "keepdim" in operation.attributes:
        return f"A{name.lower()}Backward0"
    return f"{name}Backward1"


def _quotient(operation: Operation) -> str:
    return "MulBackward0" if operation.is_scalar[0] else "DivBackward0"


def _difference(operation: Operation) -> str:
    return "RsubBackward1" if operation.is_scalar[0] else "SubBackward0"


def _power(operation: Operation) -> str:
    of_number, by_number = operation.is_scalar
    return "PowBackward2" if of_number else "PowBackward0" if by_number else "PowBackward1"


def _bounded(operation: Operation) -> str:
    return "ClampBackward1" if any(operation.is_scalar) else "ClampBackward0"


def _bounded_below(operation: Operation) -> str:
    return "ClampBackward1" if operation.is_scalar[1] else "ClampBackward0"


def _product(operation: Operation) -> str:
    ndims = tuple(spec.ndim for spec in operation.in_specs)
    return _PRODUCTS.get(ndims, "UnsafeViewBackward0")


def _layer(operation: Operation) -> str:
    return "AddmmBackward0" if operation.in_specs[0].ndim == 2 else "ViewBackward0"


def _layer_without_bias(operation: Operation) -> str:
    return "MmBackward0" if operation.in_specs[0].ndim == 2 else "UnsafeViewBackward0"


def _permutation(operation: Operation) -> str:
    order = operation.attributes["perm"]
    moved = [dim for dim, source in enumerate(order) if dim != source]
    if len(order) == 2:
        return "TBackward0"
    return "TransposeBackward0" if len(moved) == 2 else "PermuteBackward0"


def _shape(operation: Operation) -> str:
    before, after = operation.in_specs[0].shape, operation.out_specs[0].shape
    if _is_without_one(after, before):
        return "UnsqueezeBackward0"
    return "SqueezeBackward1" if _is_without_one(before, after) else "ViewBackward0"


def _is_without_one(larger: tuple[int, ...], smaller: tuple[int, ...]) -> bool:
    """Return whether a dimension of size 1 is all that `larger` has and `smaller` has not."""
    return len(larger) == len(smaller) + 1 and any(
        size == 1 and (*larger[:dim], *larger[dim + 1 :]) == tuple(smaller)
        for dim, size in enumerate(larger)
    )


def _normalization(operation: Operation) -> str:
    kind = "Batch" if 0 in operation.attributes["dims"] else "Layer"
    return f"Native{kind}NormBackward0"


def _nll_loss(operation: Operation) -> str:
    return "NllLoss2DBackward0" if operation.in_specs[0].ndim > 2 else "NllLossBackward0"


def _of_windows(name: str, operation: Operation) -> str:
    count = len(operation.attributes["dims"])
    return "SqueezeBackward1" if count == 1 else f"{name}{count}DWithIndicesBackward0"


def _grid(operation: Operation) -> str:
    return f"GridSampler{operation.in_specs[0].ndim - 2}DBackward0"


def _transform(operation: Operation) -> str:
    spec, result = operation.in_specs[0], operation.out_specs[0]
    return f"Fft{_type_code(spec.dtype)}2{_type_code(result.dtype)}Backward0"


def _type_code(dtype: DType) -> str:
    return "C" if dtype.is_complex else "R"


# Functions for the names of primitives that have several.
_NAMED_BY: dict[str, Callable[[Operation], str]] = {
    "amax": functools.partial(_extreme, "Max"),
    "amin": functools.partial(_extreme, "Min"),
    "clamp": _bounded,
    "clamp_max": _bounded_below,
    "clamp_min": _bounded_below,
    "cross_entropy": _nll_loss,
    "div": _quotient,
    "fourier": _transform,
    "fourier_of_real": _transform,
    "fourier_to_real": _transform,
    "grid_sample": _grid,
    "linear": _layer,
    "linear_no_bias": _layer_without_bias,
    "matmul": _product,
    "max_pool": functools.partial(_of_windows, "MaxPool"),
    "max_pool_with_indices": functools.partial(_of_windows, "MaxPool"),
    "mean": functools.partial(_reduction, "Mean"),
    "nll": _nll_loss,
    "normalize": _normalization,
    "pow": _power,
    "prod": functools.partial(_reduction, "Prod"),
    "reshape": _shape,
    "sub": _difference,
    "sum": functools.partial(_reduction, "Sum"),
    "transpose": _permutation,
}
_WORDS = re.compile(r"(?:^|_|(?<=\d))([a-z])")


def operation_name(operation: Operation) -> str:
    """Return the name of the node of an operation: ``mul_backward``, or ``MulBackward0``.

    Example:
        >>> import oneflow as flow
        >>> from oneflow import mock_torch
        >>> y = flow.ones(2, requires_grad=True) * 2
        >>> with mock_torch.enable():
        ...     y.grad_fn.name()
        'MulBackward0'
        >>> y.grad_fn.name()
        'mul_backward'
    """
    name = operation.primitive.name
    if program_name() != PYTORCH:
        return f"{name}_backward"
    if name in _NAMED_BY:
        return _NAMED_BY[name](operation)
    return _NODE_NAMES.get(name) or in_pytorch(name)


def in_pytorch(name: str) -> str:
    """Return the name that PyTorch makes from a function's: ``Log1PBackward0`` of ``log1p``."""
    return _WORDS.sub(lambda match: match[1].upper(), name) + "Backward0"


def short_name(name: str) -> str:
    """Return the name of a node as texts and classes have it: without PyTorch's namespaces."""
    return name.rpartition("::")[2]


@functools.cache
def _named_class(kind: type, name: str) -> type:
    return type(name, (kind,), {"__slots__": (), "__module__": "builtins"})


def public_node(node: Any) -> Any:
    """Return a node as a program gets it: in PyTorch's place its class has the name of the node.

    Example:
        >>> import oneflow as flow
        >>> from oneflow import mock_torch
        >>> y = flow.ones(2, requires_grad=True) * 2
        >>> with mock_torch.enable():
        ...     type(y.grad_fn).__name__, y.grad_fn.next_functions[0][0].name()
        ('MulBackward0', 'torch::autograd::AccumulateGrad')
    """
    if node is not None and program_name() == PYTORCH:
        name = short_name(node.name())
        if type(node).__name__ != name:
            node.__class__ = _named_class(type(node), name)
    return node
