"""``torch.distributed.fsdp.api``: the settings of modules whose parameters are split over ranks."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from oneflow.base.dtype import DType
from oneflow.nn.modules.batchnorm import _BatchNorm


class ShardingStrategy(enum.Enum):
    """The split of parameters and gradients: over all ranks or over the rows of a mesh."""

    FULL_SHARD = enum.auto()
    SHARD_GRAD_OP = enum.auto()
    NO_SHARD = enum.auto()
    HYBRID_SHARD = enum.auto()
    _HYBRID_SHARD_ZERO2 = enum.auto()


class BackwardPrefetch(enum.Enum):
    """When parameters are gathered for the backward pass; accepted: XLA orders the program."""

    BACKWARD_PRE = enum.auto()
    BACKWARD_POST = enum.auto()


@dataclass
class MixedPrecision:
    """The dtypes of a module's forward and backward pass; None leaves them as they are.

    Attributes:
        param_dtype: the dtype of gathered parameters, and so of what is computed.
        reduce_dtype: the dtype of the sums of gradients, `param_dtype` if it is None.
        buffer_dtype: the dtype of buffers.
        keep_low_precision_grads: accepted: gradients have the parameters' dtype.
        cast_forward_inputs: inputs become `param_dtype`.
        cast_root_forward_inputs: so do those of the outermost module.
        _module_classes_to_ignore: modules that stay as they are where a policy wraps modules.
    """

    param_dtype: DType | None = None
    reduce_dtype: DType | None = None
    buffer_dtype: DType | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type[Any]] = (_BatchNorm,)


@dataclass
class CPUOffload:
    """Parameters that wait in the host's memory."""

    offload_params: bool = False


class StateDictType(enum.Enum):
    """The form of parameters in a state dict: whole, the part of this rank, or a DTensor."""

    FULL_STATE_DICT = enum.auto()
    LOCAL_STATE_DICT = enum.auto()
    SHARDED_STATE_DICT = enum.auto()


@dataclass
class StateDictConfig:
    """Settings of a state dict: whether its tensors go to the CPU."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Settings of a state dict of whole tensors: whether only rank 0 has any."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Settings of a state dict of parts."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Settings of a state dict of DTensors."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """Settings of an optimizer's state dict: whether its tensors go to the CPU."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Settings of an optimizer's state dict of whole tensors: whether only rank 0 has any."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Settings of an optimizer's state dict of parts."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Settings of an optimizer's state dict of DTensors."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """The type of state dicts and its settings."""

    state_dict_type: StateDictType = StateDictType.FULL_STATE_DICT
    state_dict_config: StateDictConfig = field(default_factory=FullStateDictConfig)
    optim_state_dict_config: OptimStateDictConfig = field(default_factory=FullOptimStateDictConfig)


__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "OptimStateDictConfig",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
]


@dataclass(frozen=True)
class DataParallelMeshDims:
    """The dimensions of a mesh over which data is parallel, by their names.

    Attributes:
        shard: those over which parameters are split.
        replicate: those over which they are copied.

    Example:
        >>> from oneflow.mock_torch.pytorch.distributed.fsdp.api import DataParallelMeshDims
        >>> DataParallelMeshDims(shard="fsdp").shard_names
        ('fsdp',)
    """

    shard: str | tuple[str, ...] | None = None
    replicate: str | tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.shard is None and self.replicate is None:
            raise ValueError("`shard` or `replicate` must name a dimension of the mesh")

    @property
    def shard_names(self) -> tuple[str, ...]:
        """The names of the dimensions over which parameters are split."""
        return _as_names(self.shard)

    @property
    def replicate_names(self) -> tuple[str, ...]:
        """The names of the dimensions over which they are copied."""
        return _as_names(self.replicate)


def _as_names(names: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names or ())
