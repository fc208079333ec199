"""Settings of a job: `oneflow.FunctionConfig`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from oneflow.base import dtype as dt
from oneflow.base.dtype import DType
from oneflow.legacy.model_update_conf import optimizer_of
from oneflow.legacy.optimizers import JobOptimizer
from oneflow.legacy.scope import PlacementScope, View, consistent_view

# Settings of OneFlow's own compiler and runtime, of which XLA has no like: the reason for each.
ACCEPTED = {
    "all_reduce_fp16": "gradients are summed in their own dtype",
    "all_reduce_group_min_mbyte": "XLA groups collectives",
    "all_reduce_group_num": "XLA groups collectives",
    "all_reduce_group_size_warmup": "XLA groups collectives",
    "all_reduce_lazy_ratio": "XLA orders collectives",
    "allow_cpu_return_op": "results are always arrays of the host",
    "concurrency_width": "XLA schedules kernels",
    "cudnn_buf_limit_mbyte": "XLA chooses algorithms of convolutions",
    "cudnn_conv_enable_pseudo_half": "products of halves always add up in float32",
    "cudnn_conv_enable_true_half": "products of halves always add up in float32",
    "cudnn_conv_force_bwd_data_algo": "XLA chooses algorithms of convolutions",
    "cudnn_conv_force_bwd_filter_algo": "XLA chooses algorithms of convolutions",
    "cudnn_conv_force_fwd_algo": "XLA chooses algorithms of convolutions",
    "cudnn_conv_heuristic_search_algo": "XLA chooses algorithms of convolutions",
    "cudnn_conv_use_deterministic_algo_only": "see oneflow.use_deterministic_algorithms",
    "default_distribute_strategy": "the view of the job says how blobs are distributed",
    "default_initializer_conf": "each variable has an initializer",
    "disable_all_reduce_sequence": "XLA orders collectives",
    "do_parallel_cast_before_widening_type_cast": "boxing is chosen by its cost",
    "enable_all_reduce_group": "XLA groups collectives",
    "enable_cudnn": "XLA chooses libraries",
    "enable_cudnn_conv_pseudo_half": "products of halves always add up in float32",
    "enable_cudnn_fused_normalization_add_relu": "XLA fuses",
    "enable_float_compute_for_half_gemm": "products of halves always add up in float32",
    "enable_fuse_add_to_output": "XLA fuses",
    "enable_fuse_cast_scale": "XLA fuses",
    "enable_fuse_model_update_ops": "XLA fuses",
    "enable_gradients_stats_aggregation": "gradients are checked together",
    "enable_inplace": "XLA reuses buffers",
    "enable_inplace_in_reduce_struct": "XLA reuses buffers",
    "enable_keep_header_only": "operators without effect never run",
    "enable_nccl": "XLA chooses libraries",
    "enable_reused_mem": "XLA reuses buffers",
    "enable_true_half_config_when_conv": "products of halves always add up in float32",
    "exp_run_conf": "there are no experimental runs",
    "indexed_slices_optimizer_conf": "gradients of embeddings are dense",
    "non_distributed_optimizer_group_size_mbyte": "XLA groups collectives",
    "optimizer_placement_optimization_threshold": "XLA groups collectives",
    "prune_amp_white_identity_ops": "operators without effect never run",
    "prune_cast_to_static_shape_ops": "shapes are static",
    "prune_parallel_cast_ops": "operators without effect never run",
    "use_boxing_v2": "there is one kind of boxing",
    "use_memory_allocation_algorithm_v2": "XLA plans memory",
    "use_nccl_inter_node_communication": "XLA chooses libraries",
    "use_xla_jit": "XLA compiles every job",
}
# Groups of such settings.
ACCEPTED_GROUPS = {
    "qat": "training with quantised numbers is refused, see `FunctionConfig.enable_qat`",
    "static_mem_alloc_algo_white_list": "XLA plans memory",
    "static_mem_alloc_policy_white_list": "XLA plans memory",
    "tensorrt": "nn.Graph's TensorRT chooses precisions",
}


class Accepted:
    """A group of settings that change nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *values, **named: None


class TrainConfig:
    """The settings `FunctionConfig.train` of a training job.

    Args:
        optimizer_placement_optimization_mode: the setting of this name of the job.
    """

    def __init__(self, optimizer_placement_optimization_mode: Callable[[str], None]) -> None:
        self.accumulation_steps = 1
        self._primary_lr: float | None = None
        self._secondary_lr: float | None = None
        self._model_update_conf: Mapping[str, Any] = {"naive_conf": {}}
        self.optimizer_placement_optimization_mode = optimizer_placement_optimization_mode

    def num_gradient_accumulation_steps(self, value: int) -> None:
        """Divide each batch into so many parts, and add their gradients before a step.

        Raises:
            ValueError: `value` is not a positive integer.
        """
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"the number of steps must be a positive integer, got {value!r}")
        self.accumulation_steps = value

    def loss_scale_factor(self, value: float) -> None:
        """Accept a scale of the loss: losses in float32 and bfloat16 need none."""

    def optimizer_placement_optimization_threshold(self, value: int) -> None:
        """Accept the least size of a part: XLA groups collectives."""

    def primary_lr(self, value: float) -> None:
        """Choose the learning rate of `oneflow.losses.add_loss`."""
        self._primary_lr = value

    def secondary_lr(self, value: float) -> None:
        """Accept the learning rate of biases; it must be the learning rate.

        Raises:
            NotImplementedError: when the job is defined, if it is another one.
        """
        self._secondary_lr = value

    def model_update_conf(self, value: Mapping[str, Any]) -> None:
        """Choose the optimizer of `oneflow.losses.add_loss`; see `optimizer_of`.

        Gradient descent without momentum unless this is called.
        """
        self._model_update_conf = value

    @property
    def has_optimizer(self) -> bool:
        """True if there is a learning rate for `oneflow.losses.add_loss`."""
        return self._primary_lr is not None

    def optimizer(self) -> JobOptimizer | None:
        """Return the optimizer of `oneflow.losses.add_loss`; None if there is no learning rate.

        Raises:
            NotImplementedError: biases are given another learning rate.
            ValueError: `model_update_conf` describes no optimizer.
        """
        if self._primary_lr is None:
            return None
        if self._secondary_lr not in (None, self._primary_lr):
            raise NotImplementedError(
                f"`train.secondary_lr` is {self._secondary_lr} and `train.primary_lr` "
                f"{self._primary_lr}: let optimizers of oneflow.optimizer, each with the names of "
                "its `variables`, minimize the loss in the job's body"
            )
        return optimizer_of(self._primary_lr, self._model_update_conf)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"FunctionConfig.train has no setting `{name}`")


class FunctionConfig:
    """Settings of a job.

    A setting is called with its value, or assigned to. The settings of `ACCEPTED` change nothing,
    for the reasons that stand there.

    Attributes:
        data_type: dtype of variables that say none.
        view: the logical view.
        placement: where the job runs; None stands for the session's devices.
        auto_mixed_precision: True if matrix products and convolutions compute in half precision.
        train: settings of training.
        graph_options: functions that set options of the job's graph.

    Example:
        >>> import oneflow as flow
        >>> config = flow.FunctionConfig()
        >>> config.default_logical_view(flow.scope.mirrored_view())
        >>> config.enable_auto_mixed_precision(True)
        >>> config.auto_mixed_precision
        True
    """

    def __init__(self) -> None:
        members = self.__dict__
        members["data_type"] = dt.float32
        members["view"] = consistent_view()
        members["placement"] = None
        members["auto_mixed_precision"] = False
        members["train"] = TrainConfig(self.optimizer_placement_optimization_mode)
        members["graph_options"] = []

    def default_data_type(self, value: DType) -> None:
        """Make `value` the dtype of variables that say none."""
        self.__dict__["data_type"] = value

    def default_logical_view(self, value: View) -> None:
        """Choose between `oneflow.scope.consistent_view()` and `oneflow.scope.mirrored_view()`.

        Raises:
            TypeError: `value` is neither.
        """
        if not isinstance(value, View):
            raise TypeError(
                "a view is flow.scope.consistent_view() or flow.scope.mirrored_view(), "
                f"got {value!r}"
            )
        self.__dict__["view"] = value

    def default_placement_scope(self, value: PlacementScope) -> None:
        """Run the job on the devices of `oneflow.scope.placement(...)`.

        Raises:
            TypeError: `value` is something else.
        """
        if not isinstance(value, PlacementScope):
            raise TypeError(f"a placement scope is flow.scope.placement(...), got {value!r}")
        self.__dict__["placement"] = value.placement

    def enable_auto_mixed_precision(self, value: bool = True) -> None:
        """Let matrix products and convolutions compute in half precision."""
        self.__dict__["auto_mixed_precision"] = value

    def enable_non_distributed_optimizer(self, value: bool = True) -> None:
        """Keep the states of optimizers in parts on the devices; see `GraphConfig.enable_zero`."""
        self.__dict__["graph_options"].append(lambda config: config.enable_zero(value))

    def optimizer_placement_optimization_mode(self, mode: str) -> None:
        """Keep the states of optimizers in parts on the devices.

        Args:
            mode: "non_distributed" or "distributed_split"; both mean the same here.

        Raises:
            ValueError: it is something else.
        """
        if mode not in ("non_distributed", "distributed_split"):
            raise ValueError(f"mode must be 'non_distributed' or 'distributed_split', got {mode!r}")
        self.enable_non_distributed_optimizer()

    def use_openvino(self, value: bool = True) -> None:
        """Run a prediction job by OpenVINO; see `GraphConfig.enable_openvino`."""
        self.__dict__["graph_options"].append(lambda config: config.enable_openvino(value))

    def use_tensorrt(self, value: bool = True) -> None:
        """Run a prediction job by TensorRT; see `GraphConfig.enable_tensorrt`."""
        self.__dict__["graph_options"].append(lambda config: config.enable_tensorrt(value))

    def enable_qat(self, value: bool = True) -> None:
        """Refuse training with quantised numbers.

        Raises:
            NotImplementedError: `value` is true.
        """
        if value:
            raise NotImplementedError(
                "job functions do not train with quantised numbers; use the modules of "
                "oneflow.nn that quantise, in an nn.Graph"
            )

    enable_quantization_aware_training = enable_qat

    def __getattr__(self, name: str) -> Any:
        if name in ACCEPTED_GROUPS:
            return Accepted()
        if name in ACCEPTED:
            return lambda *values, **named: None
        raise AttributeError(f"FunctionConfig has no setting `{name}`")

    def __setattr__(self, name: str, value: Any) -> None:
        getattr(self, name)(value)


function_config = FunctionConfig
