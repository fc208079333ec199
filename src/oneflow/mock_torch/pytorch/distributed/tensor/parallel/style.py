"""``torch.distributed.tensor.parallel.style``: the ways to split layers over the ranks of a mesh.

A style makes the parameters global tensors, and the arguments of a call, too. The operators then
compute what their shards allow, and results are converted to the placements that were asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from oneflow import Tensor
from oneflow.mock_torch.pytorch.distributed.device_mesh import DeviceMesh
from oneflow.mock_torch.pytorch.distributed.tensor.constructors import distribute_module
from oneflow.mock_torch.pytorch.distributed.tensor.placement_types import (
    Placement,
    Replicate,
    Shard,
)
from oneflow.mock_torch.pytorch.distributed.tensor.sharded_tensor import DTensor, distribute_tensor
from oneflow.module.module import Module
from oneflow.nn import Embedding, Linear, Parameter

# The placements of one argument or result, or of several; None leaves one as it is.
Layouts = Placement | Sequence[Placement | None]


class ParallelStyle(ABC):
    """A way to split a layer over the ranks of a mesh.

    Attributes:
        src_data_rank: the position in the mesh of the rank whose parameters are taken.
    """

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        """Split a module, and return it."""

    def _settings(self) -> dict[str, Any]:
        """The arguments that the style was made with, for its text."""
        return dict(vars(self))

    def __repr__(self) -> str:
        settings = self._settings()
        settings.pop("src_data_rank", None)
        text = ", ".join(f"{name}={value}" for name, value in settings.items())
        return f"{type(self).__name__}({text})"


def _as_global(
    tensor: Any, mesh: DeviceMesh, layout: Placement, target: Placement | None
) -> Tensor:
    """Return a global tensor as `target`; `layout` says what a local one is a part of."""
    if not isinstance(tensor, Tensor):
        raise ValueError(f"the layers of a parallel module take tensors, got {type(tensor)}")
    whole: Any = tensor if tensor.is_global else DTensor.from_local(tensor, mesh, [layout])
    if target is None or whole.placements == (target,):
        return whole
    return whole.redistribute(placements=[target])


class _SplitLayer(ParallelStyle):
    """A style for linear layers and embeddings: their weights are split along one dimension."""

    # The split dimension of each parameter by the kind of layer; None copies it to all ranks.
    _splits: ClassVar[Mapping[type[Module], Mapping[str, int | None]]]

    def __init__(
        self, input_layouts: Placement, output_layouts: Placement, use_local_output: bool
    ) -> None:
        self.input_layouts = (input_layouts,)
        self.output_layouts = (output_layouts,)
        self.use_local_output = use_local_output

    def _operand(self, module: Module) -> Placement:
        """Return the placement of the argument with which each rank needs its own shard only."""
        raise NotImplementedError

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        kinds = [kind for kind in self._splits if isinstance(module, kind)]
        if not kinds:
            raise NotImplementedError(
                f"`{type(self).__name__}` splits `Linear` and `Embedding`, got {type(module)}"
            )
        operand = self._operand(module)
        self.desired_input_layouts = (operand,)

        def partition(name: str, part: Module, mesh: DeviceMesh) -> None:
            for key, parameter in list(part.named_parameters(recurse=False)):
                dim = self._splits[kinds[0]][key]
                placement = Replicate() if dim is None else Shard(dim)
                whole = distribute_tensor(
                    parameter.detach(), mesh, [placement], src_data_rank=self.src_data_rank
                )
                part.register_parameter(key, Parameter(whole, parameter.requires_grad))

        def before(part: Module, args: tuple[Any, ...], mesh: DeviceMesh) -> Tensor:
            return _as_global(args[0], mesh, self.input_layouts[0], operand)

        def after(part: Module, result: Any, mesh: DeviceMesh) -> Tensor:
            converted = result.redistribute(placements=self.output_layouts)
            return converted.to_local() if self.use_local_output else converted

        return distribute_module(module, device_mesh, partition, before, after)

    def _settings(self) -> dict[str, Any]:
        names = ("input_layouts", "output_layouts", "use_local_output")
        return {name: getattr(self, name) for name in names}


class ColwiseParallel(_SplitLayer):
    """A linear layer whose ranks have some of its outputs each, or an embedding split likewise.

    Args:
        input_layouts: what a local argument is a part of, by default `Replicate`.
        output_layouts: the placement of the result, by default split along its last dimension.
        use_local_output: whether the result is the local part of the global tensor.

    Raises:
        NotImplementedError: the layer is neither `Linear` nor `Embedding`.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch.distributed.tensor.parallel import ColwiseParallel
        >>> ColwiseParallel().output_layouts
        (Shard(dim=-1),)
    """

    _splits: ClassVar = {Linear: {"weight": 0, "bias": 0}, Embedding: {"weight": 1}}

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(
            input_layouts or Replicate(), output_layouts or Shard(-1), use_local_output
        )

    def _operand(self, module: Module) -> Placement:
        return Replicate()


class RowwiseParallel(_SplitLayer):
    """A linear layer whose ranks have some of its inputs each, or an embedding some of the rows.

    Args:
        input_layouts: what a local argument is a part of, by default split along its last
            dimension.
        output_layouts: the placement of the result, by default `Replicate`.
        use_local_output: whether the result is the local part of the global tensor.

    Raises:
        NotImplementedError: the layer is neither `Linear` nor `Embedding`.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch.distributed.tensor.parallel import RowwiseParallel
        >>> RowwiseParallel().input_layouts
        (Shard(dim=-1),)
    """

    _splits: ClassVar = {Linear: {"weight": 1, "bias": None}, Embedding: {"weight": 0}}

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(
            input_layouts or Shard(-1), output_layouts or Replicate(), use_local_output
        )

    def _operand(self, module: Module) -> Placement:
        return Shard(-1) if isinstance(module, Linear) else Replicate()


class SequenceParallel(ParallelStyle):
    """A normalization or dropout of which each rank computes a part of the sequence.

    Args:
        sequence_dim: the dimension along which the argument is split.
        use_local_output: whether the result is the local part of the global tensor.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch.distributed.tensor.parallel import SequenceParallel
        >>> SequenceParallel()
        SequenceParallel(sequence_dim=1, use_local_output=False)
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_sharding = (Shard(sequence_dim),)
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        sharding = self.sequence_sharding[0]

        def partition(name: str, part: Module, mesh: DeviceMesh) -> None:
            # As PyTorch does: parameters of normalizations are ones on all ranks, or the user's
            # duty, so that nothing is sent.
            for key, parameter in list(part.named_parameters(recurse=False)):
                whole = DTensor.from_local(parameter.detach(), mesh, [Replicate()])
                part.register_parameter(key, Parameter(whole, parameter.requires_grad))

        def before(part: Module, args: tuple[Any, ...], mesh: DeviceMesh) -> Tensor:
            return _as_global(args[0], mesh, sharding, sharding)

        def after(part: Module, result: Tensor, mesh: DeviceMesh) -> Tensor:
            return result.to_local() if self.use_local_output else result

        return distribute_module(module, device_mesh, partition, before, after)

    def _settings(self) -> dict[str, Any]:
        dim = self.sequence_sharding[0].dim
        return {"sequence_dim": dim, "use_local_output": self.use_local_output}


def _sequence(layouts: Layouts | None) -> tuple[Placement | None, ...] | None:
    if layouts is None:
        return None
    return (layouts,) if isinstance(layouts, Placement) else tuple(layouts)


def _check_lengths(name: str, layouts: Any, targets: Any) -> None:
    """Raise an error unless there is a desired placement for each placement.

    The kind of error is PyTorch's, on which programs that choose a plan depend.
    """
    if targets is None or len(layouts) != len(targets):
        raise AssertionError(
            f"`{name}` and `desired_{name}` must have one entry each, got {targets}"
        )


def _converted(
    values: Any, mesh: DeviceMesh, layouts: Sequence[Any], targets: Sequence[Any], local: bool
) -> tuple[Any, ...]:
    """Return arguments or results as the placements that are asked for."""
    entries = values if isinstance(values, tuple) else (values,)
    if len(entries) != len(layouts):
        raise ValueError(f"there are placements for {len(layouts)} values, got {len(entries)}")
    rows = zip(entries, layouts, targets, strict=True)
    return tuple([_entry(value, mesh, layout, target, local) for value, layout, target in rows])


def _entry(value: Any, mesh: DeviceMesh, layout: Any, target: Any, local: bool) -> Any:
    if layout is None:
        return value
    # A value whose entries agree keeps its placement, even if it was global with another one.
    converted = _as_global(value, mesh, layout, target if layout != target else None)
    return converted.to_local() if local else converted


class PrepareModuleInput(ParallelStyle):
    """A module whose arguments are converted before each call.

    Args:
        input_layouts: what each local argument is a part of; None leaves one as it is.
        desired_input_layouts: the placements with which the module is called.
        input_kwarg_layouts: the same for keyword arguments, by name.
        desired_input_kwarg_layouts: the placements of keyword arguments.
        use_local_output: whether the module is called with local parts.

    Raises:
        AssertionError: there is not one desired placement for each.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch.distributed.tensor import Replicate, Shard
        ...     from torch.distributed.tensor.parallel import PrepareModuleInput
        >>> style = PrepareModuleInput(input_layouts=Shard(0), desired_input_layouts=Replicate())
        >>> style.input_layouts, style.desired_input_layouts
        ((Shard(dim=0),), (Replicate(),))
    """

    def __init__(
        self,
        *,
        input_layouts: Layouts | None = None,
        desired_input_layouts: Layouts | None = None,
        input_kwarg_layouts: Mapping[str, Placement] | None = None,
        desired_input_kwarg_layouts: Mapping[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts = _sequence(input_layouts)
        self.desired_input_layouts = _sequence(desired_input_layouts)
        self.input_kwarg_layouts = dict(input_kwarg_layouts or {})
        self.desired_input_kwarg_layouts = dict(desired_input_kwarg_layouts or {})
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            _check_lengths("input_layouts", self.input_layouts, self.desired_input_layouts)
        if self.input_kwarg_layouts:
            targets = self.desired_input_kwarg_layouts
            _check_lengths("input_kwarg_layouts", self.input_kwarg_layouts, targets)

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        layouts: Any = self.input_layouts
        targets: Any = self.desired_input_layouts

        def before(part: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if layouts is not None:
                args = _converted(args, device_mesh, layouts, targets, self.use_local_output)
            return args, {
                name: _entry(
                    value,
                    device_mesh,
                    self.input_kwarg_layouts.get(name),
                    self.desired_input_kwarg_layouts.get(name),
                    self.use_local_output,
                )
                for name, value in kwargs.items()
            }

        module.register_forward_pre_hook(before, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """A module whose results are converted after each call.

    Args:
        output_layouts: what each local result is a part of; None leaves one as it is.
        desired_output_layouts: the placements of the results.
        use_local_output: whether the results are local parts.

    Raises:
        AssertionError: there is not one desired placement for each.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch.distributed.tensor import Replicate, Shard
        ...     from torch.distributed.tensor.parallel import PrepareModuleOutput
        >>> style = PrepareModuleOutput(output_layouts=Shard(0), desired_output_layouts=Replicate())
        >>> style.use_local_output
        True
    """

    def __init__(
        self,
        *,
        output_layouts: Layouts,
        desired_output_layouts: Layouts,
        use_local_output: bool = True,
    ) -> None:
        self.output_layouts = _sequence(output_layouts)
        self.desired_output_layouts = _sequence(desired_output_layouts)
        self.use_local_output = use_local_output
        _check_lengths("output_layouts", self.output_layouts, self.desired_output_layouts)

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        layouts: Any = self.output_layouts
        targets: Any = self.desired_output_layouts

        def after(part: Module, args: Any, result: Any) -> Any:
            results = _converted(result, device_mesh, layouts, targets, self.use_local_output)
            return results[0] if len(results) == 1 else results

        module.register_forward_hook(after)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """A module whose arguments and results are converted: both styles in one.

    Args:
        input_layouts: as for `PrepareModuleInput`.
        desired_input_layouts: as for `PrepareModuleInput`.
        input_kwarg_layouts: as for `PrepareModuleInput`.
        desired_input_kwarg_layouts: as for `PrepareModuleInput`.
        use_local_input: whether the module is called with local parts.
        output_layouts: as for `PrepareModuleOutput`.
        desired_output_layouts: as for `PrepareModuleOutput`.
        use_local_output: whether the results are local parts.

    Raises:
        AssertionError: there is not one desired placement for each.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch.distributed.tensor import Replicate, Shard
        ...     from torch.distributed.tensor.parallel import PrepareModuleInputOutput
        >>> style = PrepareModuleInputOutput(
        ...     input_layouts=Shard(0), desired_input_layouts=Replicate(),
        ...     output_layouts=Replicate(), desired_output_layouts=Shard(0),
        ... )
        >>> style.prepare_module_output.desired_output_layouts
        (Shard(dim=0),)
    """

    def __init__(
        self,
        *,
        input_layouts: Layouts | None = None,
        desired_input_layouts: Layouts | None = None,
        input_kwarg_layouts: Mapping[str, Placement] | None = None,
        desired_input_kwarg_layouts: Mapping[str, Placement] | None = None,
        use_local_input: bool = False,
        output_layouts: Layouts,
        desired_output_layouts: Layouts,
        use_local_output: bool = True,
    ) -> None:
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)

    def _settings(self) -> dict[str, Any]:
        arguments = self.prepare_module_input._settings()
        arguments["use_local_input"] = arguments.pop("use_local_output")
        return arguments | self.prepare_module_output._settings()


__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
]
