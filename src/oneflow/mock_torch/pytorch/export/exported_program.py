"""``torch.export.exported_program``: a module as a recorded program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from oneflow import Tensor, is_grad_enabled, nn
from oneflow.graph.saved_graph import SavedGraph
from oneflow.mock_torch.pytorch.export.dynamic_shapes import ArgumentShape
from oneflow.mock_torch.pytorch.utils._pytree import tree_leaves, tree_structure


@dataclass(frozen=True)
class ExportGraphSignature:
    """The names of what a program reads besides its arguments, and of the tensors in those.

    Attributes:
        parameters: those of parameters, as in the module's state dict.
        buffers: those of buffers.
        user_inputs: those of tensors among the arguments.
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
    """A module that runs an exported program, with the names of the one that was exported.

    Args:
        program: the program.
    """

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        source = program.source
        if source is not None:
            for name, child in source.named_children():
                self.add_module(name, child)
            for name, parameter in source._parameters.items():
                self.register_parameter(name, parameter)
            for name, buffer in source._buffers.items():
                self.register_buffer(name, buffer)
        self.__dict__["_program"] = program

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program on arguments like those of the example."""
        return self._program.run(args, kwargs)

    def train(self, mode: bool = True) -> NoReturn:
        """Refuse: the program was recorded in the mode that the module had."""
        raise NotImplementedError(
            f"Calling {'train' if mode else 'eval'}() is not supported: the program was recorded "
            "in the mode that the module had; export it in the other one"
        )

    def eval(self) -> NoReturn:
        """Refuse, as `train` does."""
        self.train(mode=False)


class ExportedProgram:
    """A module as a recorded program, which `export` makes.

    Args:
        graph: runs it.
        source: the module, or None if the program was loaded.
        state: parameters and buffers by name.
        graph_signature: their names.
        shapes: what the tensors among the arguments must be.
        structure: that of the arguments.
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
        source: nn.Module | None,
        state: Mapping[str, Tensor],
        graph_signature: ExportGraphSignature,
        shapes: list[ArgumentShape],
        structure: Any,
        example_inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
    ) -> None:
        self.graph_runner, self.source = graph, source
        self.state_dict = dict(state)
        self.graph_signature = graph_signature
        self.example_inputs = example_inputs
        self._shapes, self._structure = shapes, structure

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the program; `module()` calls this.

        Raises:
            ValueError: the arguments have another structure than the example's.
            AssertionError: a tensor among them has another dtype, or a size that may not change.
            NotImplementedError: a gradient is asked of a program that was loaded.
        """
        if self.source is None:
            if is_grad_enabled() and any(_requires_grad(leaf) for leaf in tree_leaves(args)):
                raise NotImplementedError(
                    "a program that was loaded has no backward pass: call it under `no_grad`, or "
                    "export the module again"
                )
            return self.graph_runner(*args, **kwargs)
        if tree_structure((args, kwargs)) != self._structure:
            raise ValueError(
                f"the arguments must have the structure of the example's, {self._structure}, got "
                f"{tree_structure((args, kwargs))}"
            )
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        sizes: dict[Any, int] = {}
        for shape, tensor in zip(self._shapes, tensors, strict=True):
            shape.check(tensor, sizes)
        values = (*tensors, *self.state_dict.values())
        if is_grad_enabled() and any(map(_requires_grad, values)):
            return self.source(*args, **kwargs)  # recorded operator by operator, for backward
        return self.graph_runner(*args, **kwargs)

    def module(self, check_guards: bool = True) -> nn.Module:
        """Return a module that runs the program; its parameters are the exported module's.

        Args:
            check_guards: accepted; arguments are always checked.
        """
        return ExportedModule(self)

    def run_decompositions(self, decomp_table: Any = None, **options: Any) -> ExportedProgram:
        """Return the program itself: its operators are not composed of others."""
        return self

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """Yield parameters with their names."""
        return ((name, self.state_dict[name]) for name in self.graph_signature.parameters)

    def parameters(self) -> Iterator[Tensor]:
        """Yield parameters."""
        return (parameter for _, parameter in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """Yield buffers with their names."""
        return ((name, self.state_dict[name]) for name in self.graph_signature.buffers)

    def buffers(self) -> Iterator[Tensor]:
        """Yield buffers."""
        return (buffer for _, buffer in self.named_buffers())

    @property
    def range_constraints(self) -> dict[Any, tuple[int, int | None]]:
        """The limits of sizes that may change and have a name."""
        sizes = (size for shape in self._shapes for size in shape.sizes)
        return {size: (size.min, size.max) for size in sizes if hasattr(size, "__name__")}

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
    shapes_of: Callable[[], list[ArgumentShape]],
) -> ExportedProgram:
    """Record a module.

    Args:
        module: the module, in the mode that it keeps.
        args: the example's.
        kwargs: the example's.
        shapes_of: gives what the tensors among the arguments must be.
    """
    shapes = shapes_of()
    graph = _Exported(module)
    graph.build_graph(*args, **kwargs)
    parameters = dict(module.named_parameters())
    state = {**parameters, **dict(module.named_buffers())}
    buffers = tuple(name for name in state if name not in parameters)
    names = ExportGraphSignature(tuple(parameters), buffers, tuple(shape.path for shape in shapes))
    structure = tree_structure((args, kwargs))
    return ExportedProgram(graph, module, state, names, shapes, structure, (args, kwargs))


__all__ = ["ExportedProgram"]
