"""``torch.export.exported_program``: a module as a recorded program."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from oneflow import Tensor, is_grad_enabled, nn
from oneflow.graph.saved_graph import SavedGraph
from oneflow.mock_torch.pytorch.export.dynamic_shapes import (
    ArgumentShape,
    ArgumentValue,
    Dim,
    named_sizes,
)
from oneflow.mock_torch.pytorch.utils._pytree import tree_leaves, tree_structure
from oneflow.module.state import copy_into
from oneflow.tensor.views import unwrap

PREFIX = "module."  # of the names of the module's tensors in the graph
_MODULE_STATE = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "training")


@dataclass(frozen=True)
class ExportGraphSignature:
    """The names of the tensors that a program reads besides its arguments, and of those in these.

    Attributes:
        parameters: the names of parameters, as in the module's state dict.
        buffers: the names of buffers.
        user_inputs: the names of tensors among the arguments.
    """

    parameters: tuple[str, ...]
    buffers: tuple[str, ...]
    user_inputs: tuple[str, ...]


class _Exported(nn.Graph):
    """The program of a module; with other sizes of arguments it is recorded again."""

    max_steps, dynamic_shapes = 64, True

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def build(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*args, **kwargs)


class ExportedModule(nn.Module):
    """A module that runs an exported program.

    Args:
        program: the program.
        body: has its parameters, buffers and children.
    """

    def __init__(self, program: ExportedProgram, body: nn.Module) -> None:
        super().__init__()
        vars(self).update({name: vars(body)[name] for name in _MODULE_STATE})
        vars(self)["_program"] = program

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program on arguments of the example's shapes and dtypes."""
        return self._program.run(args, kwargs)

    def train(self, mode: bool = True) -> NoReturn:
        """Refuse: the program was recorded in the mode that the module had."""
        _raise_for_mode(mode)

    def eval(self) -> NoReturn:
        """Refuse, as `train` does."""
        _raise_for_mode(mode=False)


def _raise_for_mode(mode: bool = True) -> NoReturn:
    raise NotImplementedError(
        f"Calling {'train' if mode else 'eval'}() is not supported: the program was recorded "
        "in the mode that the module had; export it in the other one"
    )


def _frozen_copy(module: nn.Module) -> nn.Module:
    """A copy of a module that shares its parameters and buffers, and keeps its mode."""
    memo = {id(tensor): tensor for tensor in (*module.parameters(), *module.buffers())}
    body = copy.deepcopy(module, memo)
    for member in body.modules():
        vars(member)["train"] = _raise_for_mode
    return body


class ExportedProgram:
    """A module as a recorded program, which `export` makes.

    Args:
        graph: runs it.
        body: a module with the parameters and buffers; it computes the results too, unless the
            program was loaded.
        graph_signature: their names.
        conditions: what the leaves of the arguments must be.
        structure: the structure of the arguments.
        example_inputs: the arguments of the example.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(4, 2),))
        ...     program.graph_signature.parameters, tuple(program.module()(torch.ones(4, 2)).shape)
        (('weight', 'bias'), (4, 1))
    """

    def __init__(
        self,
        graph: _Exported | SavedGraph,
        body: nn.Module,
        graph_signature: ExportGraphSignature,
        conditions: Sequence[ArgumentShape | ArgumentValue] = (),
        structure: Any = None,
        example_inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
    ) -> None:
        self.graph_runner, self._body = graph, body
        self.graph_signature = graph_signature
        self.example_inputs = example_inputs
        self._conditions, self.structure = conditions, structure
        self._signature = inspect.signature(body.forward)

    @property
    def state_dict(self) -> dict[str, Tensor]:
        """The parameters and buffers by name."""
        return {**dict(self._body.named_parameters()), **dict(self._body.named_buffers())}

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the program; `module()` calls this.

        Raises:
            ValueError: the arguments have another structure than the example's.
            AssertionError: a tensor among them has another dtype, or another size where it may not
                change, or what is no tensor has another value.
            NotImplementedError: a gradient is asked of a program that was loaded.
        """
        if isinstance(self.graph_runner, SavedGraph):
            if is_grad_enabled() and any(_requires_grad(leaf) for leaf in tree_leaves(args)):
                raise NotImplementedError(
                    "a program that was loaded has no backward pass: call it under `no_grad`, or "
                    "export the module again"
                )
            return self._run_saved(self.graph_runner, args, kwargs)
        leaves = self.check_arguments(args, kwargs)
        values = (*leaves, *self.state_dict.values())
        if is_grad_enabled() and any(map(_requires_grad, values)):
            return self._body(*args, **kwargs)  # recorded operator by operator, for backward
        return self.graph_runner(*args, **kwargs)

    def check_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Check that the program takes such arguments, and return their leaves.

        Raises:
            ValueError: they have another structure than the example's.
            AssertionError: one of them has another dtype, size or value than it may have.
        """
        if tree_structure((args, kwargs)) != self.structure:
            raise ValueError(
                f"the arguments must have the structure of the example's, {self.structure}, got "
                f"{tree_structure((args, kwargs))}"
            )
        leaves = tree_leaves(list(self._signature.bind(*args, **kwargs).arguments.values()))
        sizes: dict[str, int] = {}
        for condition, leaf in zip(self._conditions, leaves, strict=True):
            condition.check(leaf, sizes)
        return leaves

    def _run_saved(self, graph: SavedGraph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a program that was loaded on the module's tensors, and write those it changes."""
        tensors = {PREFIX + name: tensor for name, tensor in self.state_dict.items()}
        graph.use_tensors(tensors)
        result = graph(*args, **kwargs)
        for name, changed in graph.state_dict().items():
            if name in tensors and unwrap(changed) is not unwrap(tensors[name]):
                copy_into(tensors[name], changed)
        return result

    def module(self, check_guards: bool = True) -> nn.Module:
        """Return a module that runs the program, with its parameters, buffers and children.

        Args:
            check_guards: accepted; arguments are always checked.
        """
        return ExportedModule(self, self._body)

    def run_decompositions(self, decomp_table: Any = None, **options: Any) -> ExportedProgram:
        """Return the program itself: its operators are not composed of others."""
        return self

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """Yield parameters with their names."""
        return self._body.named_parameters()

    def parameters(self) -> Iterator[Tensor]:
        """Yield parameters."""
        return (parameter for _, parameter in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """Yield buffers with their names."""
        return self._body.named_buffers()

    def buffers(self) -> Iterator[Tensor]:
        """Yield buffers."""
        return (buffer for _, buffer in self.named_buffers())

    @property
    def range_constraints(self) -> dict[Dim, tuple[int, int | None]]:
        """The limits of sizes that may change and have a name."""
        by_name = {size.__name__: size for size in named_sizes(self._conditions)}
        return {size: (size.min, size.max) for size in by_name.values()}

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: modules are called."""
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` "
            "instead."
        )

    def __repr__(self) -> str:
        return f"ExportedProgram({self.graph_signature})"


def _requires_grad(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def make_program(
    module: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    conditions: Sequence[ArgumentShape | ArgumentValue],
) -> ExportedProgram:
    """Record a module.

    Args:
        module: the module, in the mode that it keeps.
        args: the example's.
        kwargs: the example's.
        conditions: what the leaves of the arguments must be.
    """
    body = _frozen_copy(module)
    graph = _Exported(body)
    graph.build_graph(*args, **kwargs)
    names = ExportGraphSignature(
        tuple(name for name, _ in body.named_parameters()),
        tuple(name for name, _ in body.named_buffers()),
        tuple(shape.path for shape in conditions if isinstance(shape, ArgumentShape)),
    )
    structure = tree_structure((args, kwargs))
    return ExportedProgram(graph, body, names, conditions, structure, (args, kwargs))


def load_program(
    graph: SavedGraph, state: Mapping[str, Tensor], names: ExportGraphSignature
) -> ExportedProgram:
    """Make a program of a graph from a file.

    Args:
        graph: the graph.
        state: parameters and buffers by name.
        names: their names.
    """
    body = nn.Module()
    for name, tensor in state.items():
        *path, last = name.split(".")
        module = body
        for step in path:
            if step not in module._modules:
                module.add_module(step, nn.Module())
            module = module.get_submodule(step)
        if name in names.parameters:
            module.register_parameter(last, nn.Parameter(tensor, requires_grad=False))
        else:
            module.register_buffer(last, tensor)
    return ExportedProgram(graph, body, names)


__all__ = ["ExportedProgram"]
