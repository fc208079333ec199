"""`GraphConfig`: the options of a graph, `graph.config`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.base.dtype import HALF_DTYPES, DType, float16
from oneflow.graph.auto_parallel import AutoParallelOptions
from oneflow.graph.engines import ENGINES, Engine

_ORDERS = ("Disable", "SpeedFirst", "MemoryFirst", "OverlapCpuGpu", "DelayShortGpu")
_MEMORY_MODES = (
    "Disable",
    "SlightMemoryDown",
    "ModerateMemoryDown",
    "HeavyMemoryDown",
    "AdaptiveMemory",
)
# The modes of ZeRO by their names in OneFlow 0.6, and their stages.
_ZERO_MODES = {"distributed_split": 2, "non_distributed": 1}


class GraphConfig:
    """Options of a graph. Changing one compiles the graph again at the next call.

    Example:
        >>> import oneflow as flow
        >>> class Half(flow.nn.Graph):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.linear = flow.nn.Linear(3, 8, False)
        ...         self.config.enable_amp(True, dtype=flow.bfloat16)
        ...     def build(self, x):
        ...         return self.linear(x)
        >>> Half()(flow.ones(4, 3)).dtype
        oneflow.bfloat16
    """

    __slots__ = ("_changed", "_is_training", "_options")

    def __init__(
        self,
        changed: Callable[[], None] = lambda: None,
        is_training: Callable[[], bool] = lambda: False,
    ) -> None:
        self._changed = changed
        self._is_training = is_training
        self._options: dict[str, Any] = {
            "amp": None,
            "reduce_dtype": None,
            "fuse_model_update_ops": True,
            "fuse_add_to_output": True,
            "fuse_cast_scale": True,
            "gradient_accumulation_steps": 1,
            "zero_redundancy_optimizer_mode": None,
            "zero_redundancy_optimizer_min_size_after_split": 1024,
            "zero_stage": 0,
            "auto_parallel": False,
            "auto_parallel_ignore_user_sbp_config": False,
            "auto_parallel_sbp_collector": True,
            "auto_parallel_trunk_algo": True,
            "auto_parallel_computation_cost_ratio": 1.0,
            "auto_parallel_wait_time": None,
            "straighten_algorithm": "MemoryFirst",
            "compress_memory": True,
            "multi_tensor_update": True,
            "fused_model_update_cast": True,
            "xla_jit": True,
            "tensorrt": False,
            "openvino": False,
            "cudnn_conv_heuristic_search_algo": True,
            "auto_memory": "AdaptiveMemory",
            "choose_best_memory_allocation": True,
            "outputs_buffer_size": 2,
        }

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self._options.items())
        return f"GraphConfig(training={self.training}, {options})"

    def _set(self, name: str, value: Any) -> None:
        self._options[name] = value
        self._changed()

    # --- read by the graph

    @property
    def training(self) -> bool:
        """True if the graph has optimizers."""
        return self._is_training()

    @property
    def amp_dtype(self) -> DType | None:
        """The half precision of `enable_amp`, or None."""
        return self._options["amp"]

    @property
    def reduce_dtype(self) -> DType | None:
        """The half precision in which devices may add up partial sums, or None."""
        return self._options["reduce_dtype"]

    @property
    def gradient_accumulation_steps(self) -> int:
        """Number of micro batches in a call."""
        return self._options["gradient_accumulation_steps"]

    @property
    def zero_redundancy_optimizer_mode(self) -> str | None:
        """The mode in which optimizer states are split over devices, or None."""
        return self._options["zero_redundancy_optimizer_mode"]

    @property
    def zero_stage(self) -> int:
        """The stage of ZeRO; 0 is off."""
        return self._options["zero_stage"]

    @property
    def zero_min_size(self) -> int:
        """The number of elements that shards of tensors have at least that ZeRO splits."""
        return self._options["zero_redundancy_optimizer_min_size_after_split"]

    @property
    def auto_parallel(self) -> AutoParallelOptions | None:
        """The options of auto parallelism, or None."""
        prefix = "auto_parallel"
        if not self._options[prefix]:
            return None
        return AutoParallelOptions(
            ignore_user_sbp=self._options[f"{prefix}_ignore_user_sbp_config"],
            shares_conversions=self._options[f"{prefix}_sbp_collector"],
            compute_factor=self._options[f"{prefix}_computation_cost_ratio"],
            latency=self._options[f"{prefix}_wait_time"],
        )

    def select_engine(self, training: bool) -> Engine | None:
        """The engine that the options name; None if they name none, or it is not installed.

        Raises:
            RuntimeError: it is installed but cannot run this graph.
        """
        result = None
        for engine in ENGINES:
            if self._options[engine.package] and engine.check(training):
                result = engine
        return result

    # --- set by users

    def enable_amp(
        self, mode: bool = True, *, dtype: DType = float16, reduce_dtype: DType | None = None
    ) -> None:
        """Run products and convolutions in half precision, and what needs precision in float32.

        Each operator declares its precision at its definition. Parameters stay float32, and so do
        the sums of their gradients over devices.

        Args:
            mode: on or off.
            dtype: `oneflow.float16` or `oneflow.bfloat16`.
            reduce_dtype: the half precision in which devices may add up what they computed in it,
                such as gradients, which sends half as much; None: the dtype of what reads the sum.
        """
        for name, half in (("dtype", dtype), ("reduce_dtype", reduce_dtype or dtype)):
            if half not in HALF_DTYPES:
                raise ValueError(
                    f"`{name}` must be oneflow.float16 or oneflow.bfloat16, got {half}"
                )
        enabled = _flag("mode", mode)
        self._set("amp", dtype if enabled else None)
        self._set("reduce_dtype", reduce_dtype if enabled else None)

    def allow_fuse_model_update_ops(self, mode: bool = True) -> None:
        """Fuse casting, scaling, regularisation and the update of a parameter; XLA always does."""
        self._set("fuse_model_update_ops", _flag("mode", mode))

    def allow_fuse_add_to_output(self, mode: bool = True) -> None:
        """Fuse an addition into the operator before it; XLA always does."""
        self._set("fuse_add_to_output", _flag("mode", mode))

    def allow_fuse_cast_scale(self, mode: bool = True) -> None:
        """Fuse a cast with a multiplication by a number; XLA always does."""
        self._set("fuse_cast_scale", _flag("mode", mode))

    def set_gradient_accumulation_steps(self, value: int) -> None:
        """Split each call into micro batches, and step with the mean of their gradients.

        Arguments are split along dimension 0, and results are put together along it; 0-dim results
        are stacked. Only calls that train are split.

        Args:
            value: number of micro batches.
        """
        self._set("gradient_accumulation_steps", _count(value))

    def enable_zero(
        self,
        mode: bool = True,
        *,
        stage: int = 2,
        shard_min_size: int = 1024,
        shard_restore_level: int = 1,
    ) -> None:
        """Split tensors that every data parallel rank would hold a copy of (ZeRO).

        It acts on global parameters that are ``broadcast``, and changes no result.

        Args:
            mode: on or off.
            stage: 1 splits the states of optimizers, 2 the gradients too, 3 the parameters too.
            shard_min_size: tensors whose shards would have fewer elements are not split.
            shard_restore_level: accepted for compatibility with OneFlow, without effect: the
                program decides where shards are gathered.

        Raises:
            ValueError: another stage, or sizes below 1.
        """
        if stage not in (1, 2, 3):
            raise ValueError(f"`stage` must be 1, 2 or 3, got {stage!r}")
        self.set_zero_redundancy_optimizer_min_size_after_split(shard_min_size)
        enabled = _flag("mode", mode)
        self._set("zero_redundancy_optimizer_mode", "distributed_split" if enabled else None)
        self._set("zero_stage", stage if enabled else 0)

    def set_zero_redundancy_optimizer_mode(self, mode: str = "distributed_split") -> None:
        """Split optimizer states over the devices that train together, see `enable_zero`.

        Args:
            mode: ``"distributed_split"`` splits states and gradients, ``"non_distributed"`` states
                alone (OneFlow 0.6 put whole states on one device each; here they are split evenly).
        """
        if mode not in _ZERO_MODES:
            raise ValueError(f"`mode` must be one of {tuple(_ZERO_MODES)}, got {mode!r}")
        self._set("zero_redundancy_optimizer_mode", mode)
        self._set("zero_stage", _ZERO_MODES[mode])

    def set_zero_redundancy_optimizer_min_size_after_split(self, value: int) -> None:
        """Do not split states whose shards would have fewer elements than `value`."""
        self._set("zero_redundancy_optimizer_min_size_after_split", _count(value))

    def enable_auto_parallel(self, mode: bool = True) -> None:
        """Choose the SBP of all tensors of the graph together.

        Acts on graphs on one placement. Parameters, buffers and other tensors that are
        ``broadcast``, and states of optimizers, get the SBP that costs least; tensors that are
        split keep theirs, and so do arguments and results. The first call chooses, by a cost model
        of computation and collectives (see `oneflow.plan`); results do not change.
        """
        self._set("auto_parallel", _flag("mode", mode))

    def enable_auto_parallel_ignore_user_sbp_config(self, mode: bool = True) -> None:
        """Let auto parallel also change tensors that are split, and `to_global` in `build`."""
        self._set("auto_parallel_ignore_user_sbp_config", _flag("mode", mode))

    def enable_auto_parallel_sbp_collector(self, mode: bool = True) -> None:
        """Let auto parallel count one conversion for all readers of a value (default)."""
        self._set("auto_parallel_sbp_collector", _flag("mode", mode))

    def enable_auto_parallel_trunk_algo(self, mode: bool = True) -> None:
        """Accepted for compatibility with OneFlow: the whole graph is searched, without a trunk."""
        self._set("auto_parallel_trunk_algo", _flag("mode", mode))

    def set_auto_parallel_computation_cost_ratio(self, ratio: float) -> None:
        """Set the weight of computation's time beside the time of collectives in auto parallel.

        Args:
            ratio: 1 weighs both equally (default); with less, devices rather compute the same.
        """
        if isinstance(ratio, bool) or not isinstance(ratio, int | float) or not ratio > 0:
            raise ValueError(f"`ratio` must be a number above 0, got {ratio!r}")
        self._set("auto_parallel_computation_cost_ratio", float(ratio))

    def set_auto_parallel_wait_time(self, cost: float) -> None:
        """Set the latency of a collective in auto parallel, besides the time to send its bytes.

        Args:
            cost: microseconds; unless set, a figure for the type of devices.
        """
        if isinstance(cost, bool) or not isinstance(cost, int | float) or not cost >= 0:
            raise ValueError(f"`cost` must be a number of at least 0, got {cost!r}")
        self._set("auto_parallel_wait_time", cost * 1e-6)

    def enable_straighten_algorithm(self, mode: str = "MemoryFirst") -> None:
        """Choose the order in which operators run; XLA orders them for little memory.

        Args:
            mode: ``"Disable"``, ``"SpeedFirst"``, ``"MemoryFirst"``, ``"OverlapCpuGpu"`` or
                ``"DelayShortGpu"``.
        """
        if mode not in _ORDERS:
            raise ValueError(f"`mode` must be one of {_ORDERS}, got {mode!r}")
        self._set("straighten_algorithm", mode)

    def enable_compress_memory(self, mode: bool = True) -> None:
        """Let values share memory one after the other; XLA always does."""
        self._set("compress_memory", _flag("mode", mode))

    def enable_auto_memory(self, mode: str = "AdaptiveMemory") -> None:
        """Choose how much speed to give for less memory; XLA's scheduler weighs both in any case.

        Args:
            mode: ``"Disable"``, ``"SlightMemoryDown"``, ``"ModerateMemoryDown"``,
                ``"HeavyMemoryDown"`` or ``"AdaptiveMemory"``.
        """
        if mode not in _MEMORY_MODES:
            raise ValueError(f"`mode` must be one of {_MEMORY_MODES}, got {mode!r}")
        self._set("auto_memory", mode)

    def enable_choose_best_memory_allocation(self, mode: bool = True) -> None:
        """Try several orders in which values are placed in memory; XLA has one that is good."""
        self._set("choose_best_memory_allocation", _flag("mode", mode))

    def set_outputs_buffer_size(self, value: int = 2) -> None:
        """Set how many calls may be under way at once; here calls start when they are made.

        Raises:
            ValueError: `value` is not a positive integer.
        """
        self._set("outputs_buffer_size", _count(value))

    def enable_multi_tensor_update(self, mode: bool = True) -> None:
        """Update many parameters at once; graphs always do."""
        self._set("multi_tensor_update", _flag("mode", mode))

    def enable_fused_model_update_cast(self, mode: bool = True) -> None:
        """Fuse the update of a parameter with the cast of its new value; XLA always does."""
        self._set("fused_model_update_cast", _flag("mode", mode))

    def enable_xla_jit(self, value: bool = True) -> None:
        """Compile with XLA; graphs always do."""
        self._set("xla_jit", _flag("value", value))

    def enable_tensorrt(self, value: bool = True) -> None:
        """Run with TensorRT.

        Without TensorRT the first call warns and XLA runs the graph. With it the first call raises
        and says what is missing: graphs are not handed to it yet.
        """
        self._set("tensorrt", _flag("value", value))

    def enable_openvino(self, value: bool = True) -> None:
        """Run inference with OpenVINO; a graph with an optimizer raises.

        It runs on the CPU, with the weights as they are; XLA runs the operators that it lacks,
        those whose indices are checked, and those on float64 and int64. The first call says which.
        XLA runs the graph, with a warning, if OpenVINO is not installed or a call changes more than
        its results.
        """
        self._set("openvino", _flag("value", value))

    def enable_cudnn_conv_heuristic_search_algo(self, mode: bool = True) -> None:
        """Choose convolution algorithms by cuDNN's heuristics; XLA measures them in any case."""
        self._set("cudnn_conv_heuristic_search_algo", _flag("mode", mode))


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"`{name}` must be True or False, got {value!r}")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise ValueError(f"`value` must be an integer of at least 1, got {value!r}")
    return value
