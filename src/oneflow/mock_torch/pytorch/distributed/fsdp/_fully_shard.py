"""``torch.distributed.fsdp.fully_shard``: a module that splits its parameters over ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from oneflow.base.dtype import DType
from oneflow.distributed.groups import get_world_size
from oneflow.mock_torch.missing import raise_missing
from oneflow.mock_torch.pytorch.distributed.device_mesh import DeviceMesh
from oneflow.mock_torch.pytorch.distributed.fsdp.gathered_parameters import (
    GatheredParameters,
    GatherPrecision,
    MeshLayout,
    Places,
    is_gathered,
    places_of,
)
from oneflow.module.module import Module
from oneflow.module.parameter import Parameter
from oneflow.nn.modules.container import ModuleDict, ModuleList


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of a module's forward and backward pass; None leaves them as they are.

    Attributes:
        param_dtype: the dtype of gathered parameters, and so of what is computed.
        reduce_dtype: the dtype of the sums of gradients, `param_dtype` if it is None.
        output_dtype: the dtype of results.
        cast_forward_inputs: inputs become `param_dtype`.
    """

    param_dtype: DType | None = None
    reduce_dtype: DType | None = None
    output_dtype: DType | None = None
    cast_forward_inputs: bool = True

    def precision(self) -> GatherPrecision:
        """The settings as dtypes of gathered parameters."""
        inputs = self.param_dtype if self.cast_forward_inputs else None
        return GatherPrecision(self.param_dtype, self.reduce_dtype, inputs, self.output_dtype)


@dataclass(frozen=True)
class OffloadPolicy:
    """The place where parameters wait between steps: the device."""


@dataclass(frozen=True)
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters wait in the host's memory: refused for modules on other devices."""

    pin_memory: bool = True


class UnshardHandle:
    """The result of `FSDPModule.unshard`: there is nothing to wait for."""

    def wait(self) -> None:
        """Return at once."""


class FSDPModule:
    """The class that `fully_shard` gives a module beside its own."""

    _gathered: GatheredParameters | None

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Refuse a copy, which would gather the parameters of this module.

        Raises:
            NotImplementedError: always.
        """
        raise_missing("copy.deepcopy", "copy the module before `fully_shard`, or its state")

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return an object of the module's own class, which is not sharded."""
        own: Any = cls.__mro__[2]
        return own(*args, **kwargs)

    def _groups(self, recurse: bool = True) -> Iterator[GatheredParameters]:
        assert isinstance(self, Module)
        for module in self.modules() if recurse else [self]:
            if isinstance(module, FSDPModule) and module._gathered is not None:
                yield module._gathered

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather the parameters; the module holds them whole until `reshard`."""
        for group in self._groups(recurse=False):
            group.install(group.gathered())
        return UnshardHandle() if async_op else None

    def reshard(self) -> None:
        """Release the whole parameters; the module holds its parts again."""
        for group in self._groups(recurse=False):
            group.install(group.parameters)

    def set_requires_gradient_sync(
        self, requires_gradient_sync: bool, *, recurse: bool = True
    ) -> None:
        """Say whether backward passes average gradients; else they are kept for one that does."""
        for group in self._groups(recurse):
            group.averages = requires_gradient_sync

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Say whether the backward pass gathers parameters once more."""
        for group in self._groups(recurse):
            group.reshard_after_forward = reshard_after_forward

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Divide sums of gradients by `factor` in place of the number of ranks."""
        for group in self._groups(recurse=False):
            group.divisor = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Say whether gradients are summed along the copies of a mesh: they always are."""
        if not requires_all_reduce:
            raise_missing("set_requires_all_reduce(False)", "`set_requires_gradient_sync(False)`")

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Accepted: gradients are there after each backward pass."""

    def set_reshard_after_backward(
        self, reshard_after_backward: bool, *, recurse: bool = True
    ) -> None:
        """Accepted: nothing keeps whole parameters after a backward pass."""

    def set_modules_to_forward_prefetch(self, modules: Sequence[FSDPModule]) -> None:
        """Accepted: XLA orders the program."""

    def set_modules_to_backward_prefetch(self, modules: Sequence[FSDPModule]) -> None:
        """Accepted: XLA orders the program."""

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Accepted: parameters are gathered if an operator needs them."""

    def set_force_sum_reduction_for_comms(self, enable: bool) -> None:
        """Accepted: gradients are summed, and then divided."""


_SAME_DTYPES = MixedPrecisionPolicy()
_ON_DEVICE = OffloadPolicy()


def fully_shard(
    module: Module | Sequence[Module],
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Parameter], Any] | None = None,
    mp_policy: MixedPrecisionPolicy = _SAME_DTYPES,
    offload_policy: OffloadPolicy = _ON_DEVICE,
    ignored_params: set[Parameter] | None = None,
    dp_mesh_dims: Any = None,
) -> Any:
    """Split the parameters of a module over ranks, except in modules that were split before.

    They become global tensors, DTensors by PyTorch's name. A forward pass gathers them, and the
    backward pass leaves the means of the ranks' gradients in parts.

    Args:
        module: the module, whose class becomes a subclass of `FSDPModule` too; several modules
            are refused.
        mesh: the ranks, by default all; in two dimensions parameters are copied along the first.
        reshard_after_forward: keep no whole parameters for the backward pass, which gathers them
            once more; a number counts as True. The default is True for modules within others that
            are sharded, and False for the outermost.
        shard_placement_fn: returns ``Shard(dim)`` for a parameter, or None for dimension 0.
        mp_policy: the dtypes of computations.
        offload_policy: where parameters wait.
        ignored_params: parameters that stay as they are.
        dp_mesh_dims: refused.

    Returns:
        `module`.

    Raises:
        NotImplementedError: an argument that is refused, or several modules.
        ValueError: `module` is a container without `forward`, or sharded already, or one of its
            parameters is gathered with another module.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.distributed.fsdp import fully_shard
        >>> model = fully_shard(torch.nn.Linear(2, 1))
        >>> model(torch.ones(3, 2)).sum().backward()
        >>> model.weight.grad.placements, model.weight.grad.full_tensor().tolist()
        ((Shard(dim=0),), [[3.0, 3.0]])
    """
    if not isinstance(module, Module):
        raise_missing("fully_shard of several modules", "shard a module that contains them")
    _check_module(module)
    if dp_mesh_dims is not None:
        raise_missing("dp_mesh_dims", "give the part of the mesh with these dimensions as `mesh`")
    _check_offload(offload_policy, module)
    ranks = list(range(get_world_size())) if mesh is None else mesh.mesh.tolist()
    layout = MeshLayout(ranks, True, _dimension_by(shard_placement_fn))
    places = {
        parameter: where
        for parameter, where in places_of(_unwrapped_modules(module)).items()
        if parameter not in (ignored_params or ())
    }
    _check_shared(places)
    places = {parameter: where for parameter, where in places.items() if not parameter.is_global}
    gathered = None
    if places:
        reshard = None if reshard_after_forward is None else bool(reshard_after_forward)
        gathered = GatheredParameters(places, layout, mp_policy.precision(), reshard)
    own = type(module)
    module.__class__ = type(f"FSDP{own.__name__}", (FSDPModule, own), {})
    vars(module)["_gathered"] = gathered
    register_fsdp_forward_method(module, "forward")
    sharded: Any = module
    family = list(sharded._groups())
    for group in family:
        group.join(family, gathered)
    return module


def _check_module(module: Module) -> None:
    if isinstance(module, FSDPModule):
        raise ValueError(f"`module` must be sharded once, got a sharded {type(module).__name__}")
    if isinstance(module, ModuleList | ModuleDict) and type(module).forward is Module.forward:
        raise ValueError(
            f"`module` must have a `forward`, got a {type(module).__name__}; shard its modules"
        )


def _check_shared(places: dict[Parameter, Places]) -> None:
    for parameter, where in places.items():
        if is_gathered(parameter):
            module, name = where[0]
            raise ValueError(
                f"`module` must share no parameter with another sharded module, got `{name}` of a "
                f"{type(module).__name__}; shard a module that contains both"
            )


def _check_offload(policy: OffloadPolicy, module: Module) -> None:
    if isinstance(policy, CPUOffloadPolicy) and any(
        parameter.device.type != "cpu" for parameter in module.parameters()
    ):
        raise_missing("CPUOffloadPolicy", "parts of parameters stay on the device")


def _dimension_by(function: Callable[[Parameter], Any] | None) -> Callable[[Parameter], int | None]:
    if function is None:
        return lambda parameter: None

    def dimension(parameter: Parameter) -> int | None:
        placement = function(parameter)
        return None if placement is None else placement.dim

    return dimension


def _unwrapped_modules(module: Module) -> Iterator[Module]:
    """A module and those below it, but for those that gather their parameters themselves."""
    yield module
    for child in module.children():
        if not isinstance(child, FSDPModule):
            yield from _unwrapped_modules(child)


def register_fsdp_forward_method(module: Module, method_name: str) -> None:
    """Register a method of a sharded module that runs with whole parameters, as `forward` does.

    Args:
        module: the module; nothing is done to one that is not sharded.
        method_name: the name of the method.

    Raises:
        ValueError: the module has no such method.
    """
    if not hasattr(module, method_name):
        raise ValueError(f"`module` must have a method {method_name!r}: {type(module).__name__}")
    if not isinstance(module, FSDPModule):
        return
    method = getattr(module, method_name)

    @wraps(method)
    def run(*args: Any, **kwargs: Any) -> Any:
        gathered = module._gathered
        return method(*args, **kwargs) if gathered is None else gathered.run(method, args, kwargs)

    vars(module)[method_name] = run


def share_comm_ctx(modules: Sequence[FSDPModule]) -> None:
    """Accepted: all collective operations are in one program.

    Args:
        modules: the modules that would share streams.
    """


__all__ = [
    "CPUOffloadPolicy",
    "FSDPModule",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
    "share_comm_ctx",
]
