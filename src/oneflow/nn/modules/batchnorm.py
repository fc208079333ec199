"""Batch normalisation layers: statistics per channel."""

from __future__ import annotations

from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import DType, get_default_dtype, int64
from oneflow.distributed.groups import ProcessGroup, group_ranks
from oneflow.functional.creation.options import choose_device
from oneflow.functional.nn.normalization import batch_norm
from oneflow.module.module import Module
from oneflow.module.parameter import new_parameter
from oneflow.nn import init
from oneflow.nn.modules.image_layout import accept_channels_last
from oneflow.nn.modules.synchronized_norm import synchronized_batch_norm
from oneflow.primitives.operators.creation import ones, zeros
from oneflow.primitives.operators.elementwise import add, cast, reciprocal, relu
from oneflow.tensor.call import call, wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap, write


class _Normalization(Module):
    """Base of layers with running statistics per channel."""

    _version = 2
    _ndims: tuple[int, ...]

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        device: Device | str | None,
        dtype: DType | None,
        bias: bool,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        shape = (num_features,)
        self.register_parameter("weight", new_parameter(shape, dtype, device) if affine else None)
        self.register_parameter(
            "bias", new_parameter(shape, dtype, device) if affine and bias else None
        )
        is_tracking = track_running_stats
        spec = {"dtype": dtype or get_default_dtype(), "device": choose_device(device, None, None)}
        count = {"shape": (), "dtype": int64, "device": spec["device"]}
        self.register_buffer(
            "running_mean", wrap(zeros(shape=shape, **spec)) if is_tracking else None
        )
        self.register_buffer(
            "running_var", wrap(ones(shape=shape, **spec)) if is_tracking else None
        )
        self.register_buffer("num_batches_tracked", wrap(zeros(**count)) if is_tracking else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the batches seen so far."""
        if self.track_running_stats:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            init.zeros_(self.num_batches_tracked)

    def reset_parameters(self) -> None:
        """Forget the batches seen so far, and set weight to 1 and bias to 0."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in self._ndims:
            expected = " or ".join(f"{ndim}D" for ndim in self._ndims)
            raise ValueError(f"expected {expected} input (got {input.ndim}D input)")

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        # State dicts from before the counter existed (version 1, also OneFlow's own) load too.
        key = f"{prefix}num_batches_tracked"
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(
            state_dict,
            prefix,
            local_metadata,
            strict,
            missing_keys,
            unexpected_keys,
            error_msgs,
        )


class _BatchNorm(_Normalization):
    """Batch normalisation layer."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-05,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum: Any = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            count = self.num_batches_tracked
            write(count, add(unwrap(count), 1))
            if self.momentum is None:  # the plain average of all batches
                momentum = call(reciprocal, call(cast, count, dtype=self.running_mean.dtype))
        # Without running statistics the batch's own are used in evaluation as well.
        use_batch_statistics = self.training or self.running_mean is None
        use_running = not self.training or self.track_running_stats
        return self._normalize(
            input,
            self.running_mean if use_running else None,
            self.running_var if use_running else None,
            use_batch_statistics,
            momentum,
        )

    def _normalize(
        self,
        input: Tensor,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        use_batch_statistics: bool,
        momentum: Any,
    ) -> Tensor:
        """Normalise by the statistics of the batch, which move the running ones, or by those."""
        return batch_norm(
            input,
            running_mean,
            running_var,
            self.weight,
            self.bias,
            use_batch_statistics,
            momentum,
            self.eps,
        )


def _add_relu(output: Tensor, addend: Tensor | None) -> Tensor:
    return call(relu, output if addend is None else call(add, output, addend))


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of ``[N, C]`` or ``[N, C, L]``; arguments as for `BatchNorm2d`.

    Attributes:
        weight, bias: factors and summands as of `BatchNorm2d`, ones and zeros.
        running_mean, running_var, num_batches_tracked: statistics as of `BatchNorm2d`.

    Shape:
        input: ``(N, num_features)`` or ``(N, num_features, L)``.
        output: ``(N, num_features)`` or ``(N, num_features, L)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.BatchNorm1d(100)(flow.randn(20, 100)).shape
        oneflow.Size([20, 100])
    """

    _ndims = (2, 3)


@accept_channels_last
class BatchNorm2d(_BatchNorm):
    """Batch normalisation of ``[N, C, H, W]``: each channel gets mean 0 and variance 1.

    Args:
        num_features: number of channels.
        eps: added to the variance.
        momentum: weight of a batch in the running statistics; None: the average of all batches.
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
        input: ``(N, num_features, H, W)``.
        output: ``(N, num_features, H, W)``.

    Raises:
        ValueError: input of the wrong number of dimensions, or one value per channel in training.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.BatchNorm2d(3)(flow.randn(2, 3, 4, 4)).shape
        oneflow.Size([2, 3, 4, 4])
    """

    _ndims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of ``[N, C, D, H, W]``; arguments as for `BatchNorm2d`.

    Attributes:
        weight, bias: factors and summands as of `BatchNorm2d`, ones and zeros.
        running_mean, running_var, num_batches_tracked: statistics as of `BatchNorm2d`.

    Shape:
        input: ``(N, num_features, D, H, W)``.
        output: ``(N, num_features, D, H, W)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.BatchNorm3d(3)(flow.randn(2, 3, 4, 4, 4)).shape
        oneflow.Size([2, 3, 4, 4, 4])
    """

    _ndims = (5,)


class FusedBatchNorm1d(BatchNorm1d):
    """`BatchNorm1d`, then an optional addend and relu: ``relu(norm(x) + addend)``.

    Attributes:
        weight, bias: factors and summands as of `BatchNorm2d`, ones and zeros.
        running_mean, running_var, num_batches_tracked: statistics as of `BatchNorm2d`.

    Shape:
        input: ``(N, num_features)`` or ``(N, num_features, L)``.
        addend: the shape of the input.
        output: ``(N, num_features)`` or ``(N, num_features, L)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.FusedBatchNorm1d(5)(flow.randn(4, 5), flow.ones(4, 5)).shape
        oneflow.Size([4, 5])
    """

    def forward(self, input: Tensor, addend: Tensor | None = None) -> Tensor:
        return _add_relu(super().forward(input), addend)


class FusedBatchNorm2d(BatchNorm2d):
    """`BatchNorm2d`, then an optional addend and relu: ``relu(norm(x) + addend)``.

    Attributes:
        weight, bias: factors and summands as of `BatchNorm2d`, ones and zeros.
        running_mean, running_var, num_batches_tracked: statistics as of `BatchNorm2d`.

    Shape:
        input: ``(N, num_features, H, W)``.
        addend: the shape of the input.
        output: ``(N, num_features, H, W)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.FusedBatchNorm2d(5)(flow.randn(4, 5, 2, 2)).shape
        oneflow.Size([4, 5, 2, 2])
    """

    def forward(self, input: Tensor, addend: Tensor | None = None) -> Tensor:
        return _add_relu(super().forward(input), addend)


class FusedBatchNorm3d(BatchNorm3d):
    """`BatchNorm3d`, then an optional addend and relu: ``relu(norm(x) + addend)``.

    Attributes:
        weight, bias: factors and summands as of `BatchNorm2d`, ones and zeros.
        running_mean, running_var, num_batches_tracked: statistics as of `BatchNorm2d`.

    Shape:
        input: ``(N, num_features, D, H, W)``.
        addend: the shape of the input.
        output: ``(N, num_features, D, H, W)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.FusedBatchNorm3d(5)(flow.randn(4, 5, 2, 2, 2)).shape
        oneflow.Size([4, 5, 2, 2, 2])
    """

    def forward(self, input: Tensor, addend: Tensor | None = None) -> Tensor:
        return _add_relu(super().forward(input), addend)


class SyncBatchNorm(_BatchNorm):
    """`BatchNorm2d` for any number of dimensions whose statistics span all processes.

    In training the processes exchange means and variances of their batches, which may have
    different sizes. The batch of a global tensor is the one of all its devices in any case.

    Args:
        num_features: number of channels.
        eps: added to the variance.
        momentum: weight of a batch in the running statistics; None: the average of all batches.
        affine: whether to learn a factor and a summand per channel.
        track_running_stats: keep running statistics and use them in evaluation.
        process_group: the processes, by default all.
        device: where parameters and statistics live.
        dtype: the dtype of parameters and statistics.
        bias: False leaves out the summands.

    Attributes:
        weight: factors, ``(num_features,)``, at first ones; None without `affine`.
        bias: summands, ``(num_features,)``, at first zeros; None without `affine` or `bias`.
        running_mean: ``(num_features,)``, at first zeros; None without `track_running_stats`.
        running_var: ``(num_features,)``, at first ones; None without `track_running_stats`.
        num_batches_tracked: ``()``, at first 0; None without `track_running_stats`.

    Shape:
        input: ``(N, num_features, *)``.
        output: ``(N, num_features, *)``.

    Raises:
        ValueError: a global tensor and a group of processes: its placement says who takes part.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.SyncBatchNorm(3)(flow.randn(2, 3, 4)).shape
        oneflow.Size([2, 3, 4])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-05,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: ProcessGroup | None = None,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        group_ranks(process_group)  # raises unless it is one
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")
        if input.is_global and self.process_group is not None:
            raise ValueError(
                "`process_group` of a SyncBatchNorm must be None for global tensors, whose "
                f"statistics span their placement, got {self.process_group!r}"
            )

    def _normalize(
        self,
        input: Tensor,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        use_batch_statistics: bool,
        momentum: Any,
    ) -> Tensor:
        ranks = group_ranks(self.process_group)
        if not self.training or input.is_global or len(ranks) <= 1:
            return super()._normalize(
                input, running_mean, running_var, use_batch_statistics, momentum
            )
        return synchronized_batch_norm(
            input, running_mean, running_var, self.weight, self.bias, momentum, self.eps, ranks
        )

    @classmethod
    def convert_sync_batchnorm(
        cls, module: Module, process_group: ProcessGroup | None = None
    ) -> Module:
        """`module` with every batch norm in it made a `SyncBatchNorm` with the same state.

        Args:
            module: the module to convert.
            process_group: the processes whose batches count together, by default all.

        Returns:
            The same module, or a new layer if it is a batch norm itself.

        Raises:
            NotImplementedError: a layer adds and applies relu as well.
        """
        if isinstance(module, FusedBatchNorm1d | FusedBatchNorm2d | FusedBatchNorm3d):
            raise NotImplementedError(
                f"a SyncBatchNorm only normalises, and {type(module).__name__} applies relu as "
                "well; use a batch norm and `nn.ReLU` in its place"
            )
        converted = module
        if isinstance(module, _BatchNorm):
            converted = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            converted.training = module.training
            converted._parameters.update(module._parameters)
            converted._buffers.update(module._buffers)
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted
