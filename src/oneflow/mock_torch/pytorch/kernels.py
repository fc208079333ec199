"""Operators of PyTorch's top level beneath functions that users call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

import oneflow as flow
from oneflow.distributions import Dirichlet
from oneflow.functional.creation.file_storage import file_errors
from oneflow.mock_torch.pytorch.aten_functions import ATEN_FUNCTIONS
from oneflow.tensor.tensor import Tensor

functional = flow.nn.functional

_SAMPLING_MODES = ("bilinear", "nearest", "bicubic")
_PADDING_MODES = ("zeros", "border", "reflection")
# The operators of ATen that the top level has, too.
convolution, slice_copy = ATEN_FUNCTIONS["convolution"], ATEN_FUNCTIONS["slice_copy"]
native_dropout, native_layer_norm = (
    ATEN_FUNCTIONS[f"native_{name}"] for name in ("dropout", "layer_norm")
)
_softmax, _log_softmax = ATEN_FUNCTIONS["_softmax"], ATEN_FUNCTIONS["_log_softmax"]
_int_mm = ATEN_FUNCTIONS["_int_mm"]


def _statistics(
    input: Tensor, dims: Sequence[int], eps: float, keepdim: bool
) -> tuple[Tensor, Tensor]:
    """Return the mean over dimensions, and what deviations are multiplied by."""
    variance, mean = flow.var_mean(input, dim=tuple(dims), correction=0, keepdim=keepdim)
    return mean, flow.rsqrt(variance + eps)


def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return `group_norm`, the means of groups, and one over their standard deviations.

    Args:
        input: the tensor.
        weight: factors of channels.
        bias: summands of channels.
        N: size of the batch.
        C: number of channels.
        HxW: number of elements in a channel.
        group: number of groups.
        eps: added to the variance.
    """
    output = functional.group_norm(input, group, weight, bias, eps)
    groups = input.reshape(N, group, C * HxW // group)
    return output, *_statistics(groups, (2,), eps, False)


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return `batch_norm`, and in training the means and one over the standard deviations.

    Args:
        input: the tensor.
        weight: factors of channels.
        bias: summands of channels.
        running_mean: the means over batches, updated in training.
        running_var: the variances over batches, updated in training.
        training: whether to normalize by this batch.
        momentum: the weight of this batch in those over batches.
        eps: added to the variance.
    """
    if training:
        dims = [dim for dim in range(input.dim()) if dim != 1]
        mean, scale = _statistics(input, dims, eps, False)
    else:
        mean, scale = input.new_empty(0), input.new_empty(0)
    output = functional.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )
    return output, mean, scale


def frobenius_norm(
    input: Tensor, dim: Any = (), keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Return the square root of the sum of squares over dimensions, by default over all.

    Args:
        input: the tensor.
        dim: one dimension or two; none: all.
        keepdim: keep these dimensions.
        out: gets the result.
    """
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    return flow.linalg.vector_norm(input, 2, dims or None, keepdim, out=out)


def nuclear_norm(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Return the sum of singular values of matrices.

    Args:
        input: the matrices.
        dim: their two dimensions; without any the last ones. A truth value is `keepdim`.
        keepdim: keep these dimensions.
        out: gets the result.
    """
    if isinstance(dim, bool):
        dim, keepdim = None, dim
    dims = (-2, -1) if dim is None else dim
    return flow.linalg.matrix_norm(input, "nuc", dims, keepdim, out=out)


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Return `grid_sample`, whose modes are numbers.

    Args:
        input: the images.
        grid: the places.
        interpolation_mode: 0, 1 or 2: bilinear, nearest or bicubic.
        padding_mode: 0, 1 or 2: zeros, the border or its reflection.
        align_corners: whether -1 and 1 are the centres of corner pixels.
    """
    mode, padding = _SAMPLING_MODES[interpolation_mode], _PADDING_MODES[padding_mode]
    return functional.grid_sample(input, grid, mode, padding, align_corners)


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """Return `affine_grid`, whose last argument has no default here."""
    return functional.affine_grid(theta, tuple(size), align_corners)


def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale the rows that are looked up down to a norm, in place.

    Args:
        input: the table.
        indices: the numbers of rows.
        max_norm: the norm that they have at most.
        norm_type: the p of the norm.
    """
    functional.embedding(indices, input, max_norm=max_norm, norm_type=norm_type)
    return input


def alias_copy(input: Tensor) -> Tensor:
    """Return a copy."""
    return input.clone()


def view_as_real_copy(input: Tensor) -> Tensor:
    """Return a copy of `view_as_real`."""
    return flow.view_as_real(input).clone()


def view_as_complex_copy(input: Tensor) -> Tensor:
    """Return a copy of `view_as_complex`."""
    return flow.view_as_complex(input).clone()


def _masked_softmax(
    input: Tensor, mask: Tensor, dim: int | None = None, mask_type: int | None = None
) -> Tensor:
    """Return `softmax` of the elements where a mask is False, and 0 elsewhere; NaN without any.

    Args:
        input: the tensor.
        mask: True for the elements that are left out, or as many rows of it as `mask_type` says.
        dim: the dimension, by default the last one.
        mask_type: 0: a mask of pairs; 1: of keys in a batch; 2: of all elements.
    """
    if mask_type == 1 and mask.dim() == 2:
        mask = mask[:, None, None, :]
    hidden = mask.expand(input.shape)
    return flow.softmax(input.masked_fill(hidden, float("-inf")), -1 if dim is None else dim)


def _unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False
) -> tuple[Tensor, Tensor]:
    """Return `unique`, and where each element is in it, if asked, or an empty tensor."""
    values, inverse, _ = _unique2(input, sorted, return_inverse)
    return values, inverse


def _unique2(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return `unique`, places and counts; what is not asked for is an empty tensor."""
    values, inverse, counts = flow.unique(input, sorted, True, True)
    empty = flow.empty(0, dtype=flow.int64)
    return (
        values,
        inverse if return_inverse else empty,
        counts if return_counts else empty,
    )


def _aminmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """Return `aminmax` as a tuple."""
    low, high = flow.aminmax(input, dim=dim, keepdim=keepdim)
    return low, high


def _addmm_activation(
    self: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    use_gelu: bool = False,
) -> Tensor:
    """Return `relu`, or `gelu` by its approximation on GPUs, of `addmm`."""
    total = flow.addmm(self, mat1, mat2, beta=beta, alpha=alpha)
    return functional.gelu(total) if use_gelu else flow.relu(total)


def _compute_linear_combination(
    input: Tensor, coefficients: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """Return sums of the parts of a tensor along its first dimension, weighted by rows."""
    return flow.tensordot(coefficients.to(input.dtype), input, dims=([1], [0]), out=out)


def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """Return a direction with the length `g`.

    Args:
        v: the direction.
        g: lengths along `dim`.
        dim: the dimension whose slices have a length each; -1: all of `v` has one.
    """
    dims = [number for number in range(v.dim()) if dim == -1 or number != dim % v.dim()]
    return v * (g / flow.linalg.vector_norm(v, 2, dims, True))


def _neg_view(self: Tensor) -> Tensor:
    """Return the negative."""
    return -self


def _efficientzerotensor(*size: int | Sequence[int], **options: Any) -> Tensor:
    """Return zeros."""
    return flow.zeros(*size, **options)


def _sample_dirichlet(alpha: Tensor, generator: Any = None) -> Tensor:
    """Draw from Dirichlet distributions.

    Args:
        alpha: their concentrations, along the last dimension.
        generator: where the numbers come from; only the default one.

    Raises:
        NotImplementedError: there is a generator.
    """
    if generator is not None:
        raise NotImplementedError("`_sample_dirichlet`: `generator` must be None, the default one")
    return Dirichlet(alpha.detach(), validate_args=False).sample()


def _casting(name: str, dtype: flow.dtype) -> Any:
    def cast(input: Tensor, non_blocking: bool = False) -> Tensor:
        return input.to(dtype)

    cast.__name__ = cast.__qualname__ = name
    return cast


_cast_Byte = _casting("_cast_Byte", flow.uint8)
_cast_Char = _casting("_cast_Char", flow.int8)
_cast_Short = _casting("_cast_Short", flow.int16)
_cast_Int = _casting("_cast_Int", flow.int32)
_cast_Long = _casting("_cast_Long", flow.int64)
_cast_Half = _casting("_cast_Half", flow.float16)
_cast_Float = _casting("_cast_Float", flow.float32)
_cast_Double = _casting("_cast_Double", flow.float64)


def _get_privateuse1_backend_name() -> str:
    """Return the name of the device that users may add, which nobody has named."""
    return "privateuseone"


def _jit_can_fuse() -> bool:
    """Return False: scripts are not compiled, XLA compiles what runs."""
    return False


def get_device(input: Tensor) -> int:
    """Return the number of a tensor's device; -1 for the CPU."""
    return input.get_device()


def is_distributed(input: Tensor) -> bool:
    """Return False: no tensor is one of Caffe2's."""
    return False


def set_flush_denormal(mode: bool) -> bool:
    """Return False: numbers below the smallest normal one are kept, whatever is asked for."""
    return False


def from_file(
    filename: str,
    shared: bool | None = None,
    size: int | None = 0,
    *,
    dtype: flow.dtype | None = None,
    **options: Any,
) -> Tensor:
    """Return the numbers in a file.

    Args:
        filename: the file's name.
        shared: writes change the file, which is made if there is none, or too short.
        size: how many numbers.
        dtype: their type, by default the default one.
        options: the options of creation functions.

    Raises:
        RuntimeError: the file cannot be opened, or is too short, and not shared.
    """
    kind = dtype or flow.get_default_dtype()
    length = size or 0
    count = length * kind.itemsize
    if not count:
        values = flow.empty(0, dtype=kind)
    elif shared:
        with file_errors(filename):
            with open(filename, "ab") as file:
                file.truncate(max(file.tell(), count))
            memory = np.memmap(filename, kind.numpy, "r+", shape=(length,))
        values = flow.from_numpy(memory)
    else:
        with file_errors(filename), open(filename, "rb") as file:
            content = bytearray(file.read(count))
        if len(content) < count:
            raise RuntimeError(f"`size`: {filename} holds {len(content)} bytes, {count} are needed")
        values = flow.frombuffer(content, dtype=kind)
    return values.to(**options) if options else values


class AcceleratorError(RuntimeError):
    """The error of an accelerator, which PyTorch raises in place of `RuntimeError`."""


#: The successors of functions that PyTorch has removed.
_REMOVED = {
    "eig": "linalg.eig",
    "lstsq": "linalg.lstsq",
    "matrix_rank": "linalg.matrix_rank",
    "solve": "linalg.solve",
    "symeig": "linalg.eigh",
}


def _removed(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            f"`torch.{name}`: this function was deprecated since version 1.9 and is now removed. "
            f"`torch.{_REMOVED[name]}` takes its place."
        )

    function.__name__ = function.__qualname__ = name
    return function


eig, lstsq, matrix_rank, solve, symeig = map(_removed, _REMOVED)

# Libraries whose work XLA does, and those that are there for tests to ask for.
has_lapack = has_spectral = True
has_mkl = has_openmp = has_magma = False
