"""Instance normalisation layers: statistics per channel of each sample."""

from __future__ import annotations

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.base.pytorch_warnings import warn_in_place_of_pytorch
from oneflow.functional.nn.normalization import instance_norm
from oneflow.module.function_in_jobs import FunctionInJobs
from oneflow.nn.modules.batchnorm import _Normalization
from oneflow.primitives.operators.shape import reshape
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor


class _InstanceNorm(FunctionInJobs, _Normalization):
    """Instance normalisation layer."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-05,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def _get_no_batch_dim(self) -> int:
        """The number of dimensions of one sample; other classes may say another one."""
        return self._ndims[0]

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        dim = input.ndim - self._get_no_batch_dim()
        unbatched, channels = dim == 0, input.shape[dim]
        if channels != self.num_features:
            size = f"input's size at dim={dim} to match num_features ({self.num_features})"
            if self.affine:
                raise ValueError(f"expected {size}, but got: {channels}.")
            warn_in_place_of_pytorch(
                f"expected {size}, which is not used because affine=False, but got: {channels}."
            )
        if unbatched:
            input = call(reshape, input, shape=(1, *input.shape))
        output = instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return call(reshape, output, shape=tuple(output.shape[1:])) if unbatched else output


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of ``[N, C, L]`` or ``[C, L]``; arguments as for `InstanceNorm2d`.

    Attributes:
        weight, bias: factors and summands as of `InstanceNorm2d`, by default None.
        running_mean, running_var, num_batches_tracked: as of `InstanceNorm2d`, by default None.

    Shape:
        input: ``(N, C, L)`` or ``(C, L)``.
        output: ``(N, C, L)`` or ``(C, L)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.InstanceNorm1d(10)(flow.randn(2, 10, 4)).shape
        oneflow.Size([2, 10, 4])
    """

    _ndims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Each channel of each sample of ``[N, C, H, W]`` or ``[C, H, W]`` gets mean 0 and variance 1.

    Args:
        num_features: number of channels.
        eps: added to the variance.
        momentum: weight of a batch in the running statistics.
        affine: whether to learn a factor and a summand per channel.
        track_running_stats: keep running statistics and use them in evaluation.
        bias: False leaves out the summands.
        device: where parameters and statistics live.
        dtype: the dtype of parameters and statistics.

    Attributes:
        weight: factors, ``(num_features,)``, at first ones; None without `affine`.
        bias: summands, ``(num_features,)``, at first zeros; None without `affine` or `bias`.
        running_mean: ``(num_features,)``, at first zeros; None without `track_running_stats`.
        running_var: ``(num_features,)``, at first ones; None without `track_running_stats`.
        num_batches_tracked: ``()``, at first 0; None without `track_running_stats`.

    Shape:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        output: ``(N, C, H, W)`` or ``(C, H, W)``.

    Raises:
        ValueError: input of the wrong number of dimensions, or one value per channel and sample.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.InstanceNorm2d(10)(flow.randn(2, 10, 4, 4)).shape
        oneflow.Size([2, 10, 4, 4])
    """

    _ndims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of ``[N, C, D, H, W]`` or ``[C, D, H, W]``; see `InstanceNorm2d`.

    Attributes:
        weight, bias: factors and summands as of `InstanceNorm2d`, by default None.
        running_mean, running_var, num_batches_tracked: as of `InstanceNorm2d`, by default None.

    Shape:
        input: ``(N, C, D, H, W)`` or ``(C, D, H, W)``.
        output: ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.InstanceNorm3d(10)(flow.randn(2, 10, 4, 4, 4)).shape
        oneflow.Size([2, 10, 4, 4, 4])
    """

    _ndims = (4, 5)
