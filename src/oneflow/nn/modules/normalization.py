"""Normalisation layers without running statistics."""

from __future__ import annotations

from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.base.shape import is_sequence
from oneflow.functional.nn import normalization as functional
from oneflow.module.function_in_jobs import FunctionInJobs
from oneflow.module.module import Module
from oneflow.module.parameter import new_parameter
from oneflow.nn import init
from oneflow.tensor.tensor import Tensor


class LayerNorm(Module):
    """Normalise over the last dimensions of each sample.

    Args:
        normalized_shape: sizes of the dimensions to normalise over; a number stands for the last.
        eps: added to the variance.
        elementwise_affine: whether to learn factors and summands of shape `normalized_shape`.
        bias: False leaves out the summands.
        device: where the parameters live.
        dtype: the dtype of the parameters.

    Attributes:
        weight: factors, ``normalized_shape``, at first ones; None without `elementwise_affine`.
        bias: summands, ``normalized_shape``, at first zeros; None without `bias`.

    Shape:
        input: ``(*, *normalized_shape)``.
        output: the shape of the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LayerNorm(10)(flow.randn(20, 5, 10)).shape
        oneflow.Size([20, 5, 10])
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-05,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape_of(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        shape = self.normalized_shape
        self.register_parameter(
            "weight", new_parameter(shape, dtype, device) if elementwise_affine else None
        )
        self.register_parameter(
            "bias", new_parameter(shape, dtype, device) if elementwise_affine and bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to 1 and bias to 0."""
        _reset(self)

    def forward(self, input: Tensor) -> Tensor:
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divide by the root mean square over the last dimensions.

    Args:
        normalized_shape: sizes of the dimensions to normalise over; a number stands for the last.
        eps: added to the mean square; None: the machine epsilon of the input's dtype.
        elementwise_affine: whether to learn factors of shape `normalized_shape`.
        device: where the parameters live.
        dtype: the dtype of the parameters.

    Attributes:
        weight: factors, ``normalized_shape``, at first ones; None without `elementwise_affine`.

    Shape:
        input: ``(*, *normalized_shape)``.
        output: the shape of the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.RMSNorm(10)(flow.randn(20, 5, 10)).shape
        oneflow.Size([20, 5, 10])
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = 1e-05,
        elementwise_affine: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape_of(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.register_parameter(
            "weight",
            new_parameter(self.normalized_shape, dtype, device) if elementwise_affine else None,
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1."""
        _reset(self)

    def forward(self, input: Tensor) -> Tensor:
        return functional.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class RMSLayerNorm(Module):
    """`RMSNorm` over the last dimension as in T5.

    Args:
        hidden_size: size of the last dimension.
        eps: added to the mean square.

    Attributes:
        weight: factors, ``(hidden_size,)``, at first ones.

    Shape:
        hidden_states: ``(*, hidden_size)``.
        output: the shape of `hidden_states`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.RMSLayerNorm(10)(flow.randn(20, 5, 10)).shape
        oneflow.Size([20, 5, 10])
    """

    def __init__(self, hidden_size: int, eps: float = 1e-06) -> None:
        super().__init__()
        self.weight = new_parameter((hidden_size,))
        self.variance_epsilon = eps
        init.ones_(self.weight)

    def forward(self, hidden_states: Tensor) -> Tensor:
        return functional.rms_norm(
            hidden_states, tuple(self.weight.shape), self.weight, self.variance_epsilon
        )


class GroupNorm(FunctionInJobs, Module):
    """Normalise each sample over groups of channels and all spatial dimensions.

    Args:
        num_groups: number of groups.
        num_channels: number of channels; `num_groups` divides it.
        eps: added to the variance.
        affine: whether to learn a factor and a summand per channel.
        bias: False leaves out the summands.
        device: where the parameters live.
        dtype: the dtype of the parameters.

    Attributes:
        weight: factors, ``(num_channels,)``, at first ones; None without `affine`.
        bias: summands, ``(num_channels,)``, at first zeros; None without `affine` or `bias`.

    Shape:
        input: ``(N, num_channels, *)``.
        output: ``(N, num_channels, *)``.

    Raises:
        ValueError: `num_groups` does not divide `num_channels`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.GroupNorm(3, 6)(flow.randn(20, 6, 10, 10)).shape
        oneflow.Size([20, 6, 10, 10])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-05,
        affine: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels must be divisible by num_groups, got num_channels={num_channels}, "
                f"num_groups={num_groups}"
            )
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        shape = (num_channels,)
        self.register_parameter("weight", new_parameter(shape, dtype, device) if affine else None)
        self.register_parameter(
            "bias", new_parameter(shape, dtype, device) if affine and bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to 1 and bias to 0."""
        _reset(self)

    def forward(self, input: Tensor) -> Tensor:
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class LocalResponseNorm(Module):
    """Divide each element by a power of the mean square of its neighbouring channels.

    Args:
        size: number of neighbouring channels, the element's own included.
        alpha: factor of the mean square.
        beta: exponent.
        k: added before raising to `beta`.

    Shape:
        input: ``(N, C, *)``.
        output: ``(N, C, *)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LocalResponseNorm(2)(flow.randn(32, 5, 24, 24)).shape
        oneflow.Size([32, 5, 24, 24])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return functional.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """`LocalResponseNorm` of images, with as many channels before an element as after it.

    For an odd `size` both are the same. For an even one, one channel less is added up, and the sum
    is divided by `size` all the same.

    Args:
        size: number of neighbouring channels, the element's own included.
        alpha: factor of the mean square.
        beta: exponent.
        k: added before raising to `beta`.

    Shape:
        input: ``(N, C, H, W)``.
        output: ``(N, C, H, W)``.

    Raises:
        ValueError: the input is not ``[N, C, H, W]``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.CrossMapLRN2d(3)(flow.randn(2, 5, 4, 4)).shape
        oneflow.Size([2, 5, 4, 4])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.ndim}D instead.")
        width = 2 * ((self.size - 1) // 2) + 1
        alpha = self.alpha * width / self.size
        return functional.local_response_norm(input, width, alpha, self.beta, self.k)


def _shape_of(normalized_shape: Any) -> tuple[int, ...]:
    return tuple(normalized_shape) if is_sequence(normalized_shape) else (normalized_shape,)


def _reset(module: Module) -> None:
    """Factors to 1, summands to 0, where there are any."""
    for name, parameter in module.named_parameters(recurse=False):
        (init.ones_ if name == "weight" else init.zeros_)(parameter)
