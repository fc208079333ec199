"""``torch.distributed.fsdp.FullyShardedDataParallel``: a module around one that is sharded."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from oneflow import nn
from oneflow.base.device import Device
from oneflow.base.dtype import DType, float32
from oneflow.base.sbp import BROADCAST
from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributed.groups import ProcessGroup, group_ranks
from oneflow.mock_torch.missing import raise_missing
from oneflow.mock_torch.pytorch.distributed.device_mesh import DeviceMesh
from oneflow.mock_torch.pytorch.distributed.fsdp.api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from oneflow.mock_torch.pytorch.distributed.fsdp.gathered_parameters import (
    GatherPrecision,
    MeshLayout,
    WrappedParameters,
    cast_all,
    places_of,
    unshard,
)
from oneflow.mock_torch.pytorch.distributed.fsdp.states import (
    PREFIX,
    optimizer_state,
    optimizer_state_to_load,
    register_state_hooks,
)
from oneflow.mock_torch.pytorch.distributed.fsdp.wrap import wrap_children, wrap_modules
from oneflow.module.module import Module
from oneflow.module.parameter import Parameter
from oneflow.optim.optimizer import Optimizer
from oneflow.tensor.tensor import Tensor

_WITHOUT_COPIES = (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2)
_CONFIGS = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
}


class OptimStateKeyType(enum.Enum):
    """The keys of parameters in the state of an optimizer."""

    PARAM_NAME = enum.auto()
    PARAM_ID = enum.auto()


class FullyShardedDataParallel(nn.Module):
    """A module whose parameters are split over ranks, and gathered while it runs.

    Each parameter is a global tensor, a DTensor by PyTorch's name, whatever `use_orig_params` is.

    Args:
        module: the module to train, `module` of this one.
        process_group: the ranks, by default all.
        sharding_strategy: what is split, by default everything over all ranks.
        cpu_offload: refused for modules on other devices.
        auto_wrap_policy: chooses modules below that gather their parameters themselves.
        backward_prefetch: accepted.
        mixed_precision: the dtypes of computations.
        ignored_modules: modules that stay as they are, with those below them.
        param_init_fn: refused: modules on ``meta`` are to be made real before.
        device_id: the device to which the module goes before.
        sync_module_states: buffers become those of the first rank; parameters always do.
        forward_prefetch: accepted.
        limit_all_gathers: accepted.
        use_orig_params: accepted.
        ignored_states: parameters, or modules, that stay as they are.
        device_mesh: the ranks; in two dimensions parameters are copied along the first.

    Raises:
        ValueError: a hybrid strategy without a mesh of two dimensions.
        NotImplementedError: an argument that is refused was given.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.distributed.fsdp import FullyShardedDataParallel
        >>> model = FullyShardedDataParallel(torch.nn.Linear(2, 1))
        >>> model(torch.ones(3, 2)).sum().backward()
        >>> list(model.state_dict()), model.weight.grad.full_tensor().tolist()
        (['weight', 'bias'], [[3.0, 3.0]])
    """

    _fsdp_wrapped_module: nn.Module

    def __init__(
        self,
        module: nn.Module,
        process_group: ProcessGroup | None = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[nn.Module] | None = None,
        param_init_fn: Callable[[nn.Module], None] | None = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Iterable[Any] | None = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        _check_supported(module, cpu_offload, param_init_fn)
        if device_id is not None:
            module.to(Device("cuda", device_id) if isinstance(device_id, int) else device_id)
        options = {
            "process_group": process_group,
            "sharding_strategy": sharding_strategy,
            "mixed_precision": mixed_precision,
            "ignored_modules": ignored_modules,
            "sync_module_states": sync_module_states,
            "ignored_states": ignored_states,
            "device_mesh": device_mesh,
        }
        skipped, ignored_parameters = _ignored(ignored_modules, ignored_states)
        if auto_wrap_policy is not None:
            self._wrap_below(module, auto_wrap_policy, skipped, options)
        self.sharding_strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        self.mixed_precision = mixed_precision or MixedPrecision()
        self.process_group = process_group
        self._fsdp_wrapped_module = module
        self._is_root = True
        self._settings = StateDictSettings()
        self._has_full_params = False
        own = list(_unwrapped_modules(module, skipped))
        self._split(own, ignored_parameters, device_mesh, sync_module_states)
        self._convert_buffers(own)
        register_state_hooks(self)

    def _split(
        self, modules: list[Module], ignored: set[Parameter], mesh: DeviceMesh | None, copies: bool
    ) -> None:
        layout = self._layout(mesh)
        if copies:
            _copy_buffers(modules, layout)
        places = {x: where for x, where in places_of(modules).items() if x not in ignored}
        self._gathered = WrappedParameters(places, layout, self._precision(), self._reshard())
        units = self.fsdp_modules(self)
        for unit in units:
            unit._is_root = unit is self
            unit._gathered.join([other._gathered for other in units], self._gathered)

    def _wrap_below(
        self, module: nn.Module, policy: Any, skipped: set[Module], options: dict[str, Any]
    ) -> None:
        precision = options["mixed_precision"]
        classes = () if precision is None else tuple(precision._module_classes_to_ignore)
        ignored_parts = [part for part in module.modules() if classes and isinstance(part, classes)]
        wrap_modules(
            module,
            {x: {**options, "mixed_precision": None} for x in ignored_parts if x not in skipped},
            FullyShardedDataParallel,
        )
        for part in ignored_parts:
            _keep_precision(part)
        wrapped = {part for wrapper in self.fsdp_modules(module) for part in wrapper.modules()}
        wrap_children(module, policy, FullyShardedDataParallel, skipped | wrapped, options)

    def _layout(self, mesh: DeviceMesh | None) -> MeshLayout:
        is_hybrid = self.sharding_strategy in (
            ShardingStrategy.HYBRID_SHARD,
            ShardingStrategy._HYBRID_SHARD_ZERO2,
        )
        if is_hybrid and (mesh is None or mesh.ndim != 2):
            raise ValueError(
                "a hybrid `sharding_strategy` takes a `device_mesh` of two dimensions, got "
                f"device_mesh={mesh}"
            )
        ranks = list(group_ranks(self.process_group)) if mesh is None else mesh.mesh.tolist()
        return MeshLayout(ranks, self.sharding_strategy is not ShardingStrategy.NO_SHARD)

    def _reshard(self) -> bool:
        strategies = (*_WITHOUT_COPIES, ShardingStrategy.NO_SHARD)
        return self.sharding_strategy not in strategies

    def _precision(self) -> GatherPrecision:
        policy = self.mixed_precision
        inputs = policy.param_dtype if policy.cast_forward_inputs else None
        return GatherPrecision(policy.param_dtype, policy.reduce_dtype, inputs)

    def _convert_buffers(self, modules: list[Module]) -> None:
        dtype = self.mixed_precision.buffer_dtype
        if dtype is None:
            return
        classes = tuple(self.mixed_precision._module_classes_to_ignore)
        for module in modules:
            for name, buffer in module._buffers.items():
                if buffer is not None and not isinstance(module, classes):
                    module._buffers[name] = cast_all(buffer, dtype)

    @property
    def module(self) -> nn.Module:
        """The module that is trained."""
        return self._fsdp_wrapped_module

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the wrapped module where there is none here."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == PREFIX[:-1]:
                raise
            return getattr(self._fsdp_wrapped_module, name)

    def __getitem__(self, key: Any) -> Any:
        """Return a part of the wrapped module."""
        wrapped: Any = self._fsdp_wrapped_module
        return wrapped[key]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the module with whole parameters."""
        precision = self.mixed_precision
        if self._is_root and precision.cast_root_forward_inputs:
            args, kwargs = cast_all((args, kwargs), precision.param_dtype)
        if self._has_full_params:
            return self._fsdp_wrapped_module(*args, **kwargs)
        return self._gathered.run(self._fsdp_wrapped_module, args, kwargs)

    def check_is_root(self) -> bool:
        """Return whether no other module of this class contains this one."""
        return self._is_root

    @staticmethod
    def fsdp_modules(module: nn.Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """Return the modules of this class in a module; or only those that no other contains."""
        return [
            part
            for part in module.modules()
            if isinstance(part, FullyShardedDataParallel) and (part._is_root or not root_only)
        ]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Parameter]]:
        """Yield names and parameters; where they are whole, without the names of wrappers."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(PREFIX, "") if self._has_full_params else name, parameter

    def named_buffers(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Tensor]]:
        """Yield names and buffers; where parameters are whole, without the names of wrappers."""
        for name, buffer in super().named_buffers(*args, **kwargs):
            yield name.replace(PREFIX, "") if self._has_full_params else name, buffer

    # --- training

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Keep the gradients of backward passes in the block for the next one outside of it."""
        groups = [part._gathered for part in self.fsdp_modules(self)]
        before = [group.averages for group in groups]
        for group in groups:
            group.averages = False
        try:
            yield
        finally:
            for group, averages in zip(groups, before, strict=True):
                group.averages = averages

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale all gradients so that their norm is at most `max_norm`; return the norm before.

        Args:
            max_norm: the limit.
            norm_type: the order of the norm.
        """
        norm = nn.utils.clip_grad_norm_(self.parameters(), max_norm, norm_type)
        return unshard(norm) if norm.is_global else norm

    def register_comm_hook(self, state: object, hook: Callable[..., Any]) -> None:
        """Refuse a function that would exchange the gradients in place of the mean.

        Raises:
            NotImplementedError: always.
        """
        raise_missing("register_comm_hook", "`MixedPrecision.reduce_dtype`, or `no_sync()`")

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: nn.Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Gather the parameters of modules for a block, as local tensors.

        Args:
            module: the module.
            recurse: also those below it.
            writeback: keep what rank 0 writes to them.
            rank0_only: accepted: all ranks have them.
            offload_to_cpu: accepted.
            with_grads: whole gradients, too.
        """
        parts = FullyShardedDataParallel.fsdp_modules(module)
        if not recurse:
            parts = [part for part in parts if part is module]
        with ExitStack() as stack:
            for part in parts:
                stack.enter_context(part._full_params(writeback, with_grads))
            yield

    @contextmanager
    def _full_params(self, writes_back: bool, with_grads: bool) -> Iterator[None]:
        self._has_full_params = True
        try:
            with self._gathered.full_params(writes_back, with_grads):
                yield
        finally:
            self._has_full_params = False

    def apply(self, fn: Callable[[nn.Module], None]) -> FullyShardedDataParallel:
        """Call a function for this module and all below it, with whole parameters."""
        with ExitStack() as stack:
            if not self._has_full_params:
                stack.enter_context(self.summon_full_params(self))
            super().apply(fn)
        return self

    # --- states

    @staticmethod
    def set_state_dict_type(
        module: nn.Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """Set the type of the modules' state dicts, and return the settings of before.

        Args:
            module: the module and all below it.
            state_dict_type: whole tensors, parts, or DTensors.
            state_dict_config: settings of that type.
            optim_state_dict_config: settings of the states of optimizers.

        Raises:
            RuntimeError: settings of another type.
        """
        config, optim_config = _CONFIGS[state_dict_type]
        settings = StateDictSettings(
            state_dict_type,
            config() if state_dict_config is None else state_dict_config,
            optim_config() if optim_state_dict_config is None else optim_state_dict_config,
        )
        if type(settings.state_dict_config) is not config:
            raise RuntimeError(
                f"`state_dict_config` must be {config} for {state_dict_type}, got "
                f"{type(settings.state_dict_config)}"
            )
        before = FullyShardedDataParallel.get_state_dict_type(module)
        for part in FullyShardedDataParallel.fsdp_modules(module):
            part._settings = settings
        return before

    @staticmethod
    def get_state_dict_type(module: nn.Module) -> StateDictSettings:
        """Return what state dicts of a module hold."""
        parts = FullyShardedDataParallel.fsdp_modules(module)
        return parts[0]._settings if parts else StateDictSettings()

    @staticmethod
    @contextmanager
    def state_dict_type(
        module: nn.Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """Set the type of the modules' state dicts in a block."""
        before = FullyShardedDataParallel.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config
        )
        try:
            yield
        finally:
            for part in FullyShardedDataParallel.fsdp_modules(module):
                part._settings = before

    @staticmethod
    def optim_state_dict(
        model: nn.Module,
        optim: Optimizer,
        optim_state_dict: Mapping[str, Any] | None = None,
        group: ProcessGroup | None = None,
    ) -> dict[str, Any]:
        """Return the state of an optimizer by the names of parameters.

        Args:
            model: the module; its `set_state_dict_type` says what the state holds.
            optim: the optimizer.
            optim_state_dict: its state, by default `optim.state_dict()`.
            group: accepted.
        """
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        return optimizer_state(model, optim, optim_state_dict, settings)

    @staticmethod
    def optim_state_dict_to_load(
        model: nn.Module,
        optim: Optimizer,
        optim_state_dict: Mapping[str, Any],
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: ProcessGroup | None = None,
    ) -> dict[str, Any]:
        """Return what `optim.load_state_dict` takes, of what `optim_state_dict` has given.

        Args:
            model: the module.
            optim: the optimizer.
            optim_state_dict: its state by the names of parameters.
            is_named_optimizer: refused.
            load_directly: load it.
            group: the ranks that get the state of the first one, where only that one has it.
        """
        if is_named_optimizer:
            raise_missing("is_named_optimizer", "optimizers number their parameters")
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        state = optimizer_state_to_load(model, optim, optim_state_dict, settings, group)
        if load_directly:
            optim.load_state_dict(state)
        return state


def _check_supported(module: nn.Module, offload: CPUOffload | None, initialize: Any) -> None:
    if initialize is not None:
        raise_missing("param_init_fn", "make the module on its device")
    on_cpu = all(parameter.device.type == "cpu" for parameter in module.parameters())
    if offload is not None and offload.offload_params and not on_cpu:
        raise_missing("CPUOffload(offload_params=True)", "parts of parameters stay on the device")


def _ignored(
    modules: Iterable[nn.Module] | None, states: Iterable[Any] | None
) -> tuple[set[Module], set[Parameter]]:
    """Modules and parameters that stay as they are."""
    ignored = [*(modules or ()), *(states or ())]
    skipped = {part for item in ignored if isinstance(item, Module) for part in item.modules()}
    return skipped, {item for item in ignored if isinstance(item, Parameter)}


def _unwrapped_modules(module: Module, skipped: set[Module]) -> Iterator[Module]:
    """A module and those below it, but for those that gather their parameters themselves."""
    if module in skipped or isinstance(module, FullyShardedDataParallel):
        return
    yield module
    for child in module.children():
        yield from _unwrapped_modules(child, skipped)


def _copy_buffers(modules: Iterable[Module], layout: MeshLayout) -> None:
    """Copy the buffers of the first rank to all ranks."""
    with no_grad():
        for buffer in [buffer for module in modules for buffer in module._buffers.values()]:
            if buffer is not None:
                placement = layout.placement_of(buffer)
                buffer.copy_(buffer.to_global(placement, [BROADCAST] * placement.ndim).to_local())


def _keep_precision(module: Module) -> None:
    """Make a module compute in float32, and return results in the dtype of its inputs."""
    dtypes: list[DType | None] = []

    def before(module: Module, args: Any) -> Any:
        floating = [x for x in args if isinstance(x, Tensor) and x.is_floating_point()]
        dtypes.append(floating[0].dtype if floating else None)
        return cast_all(args, float32)

    module.register_forward_pre_hook(before)
    module.register_forward_hook(lambda module, args, results: cast_all(results, dtypes.pop()))


__all__ = ["FullyShardedDataParallel", "OptimStateKeyType", "ShardingStrategy", "StateDictType"]
