"""``torch.export.unflatten``: programs as modules with children, and adapters of arguments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from oneflow.mock_torch.pytorch.export.exported_program import ExportedModule, ExportedProgram
from oneflow.mock_torch.pytorch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten


class FlatArgsAdapter(ABC):
    """The base of what puts the leaves of arguments into the order that a program takes."""

    @abstractmethod
    def adapt(
        self,
        target_spec: TreeSpec,
        input_spec: TreeSpec,
        input_args: list[Any],
        metadata: dict[str, Any] | None = None,
        obj: Any = None,
    ) -> list[Any]:
        """Return the leaves for a structure.

        Args:
            target_spec: the structure of the example's arguments.
            input_spec: that of the call's.
            input_args: the leaves of the call's arguments.
            metadata: None.
            obj: None.
        """

    def get_flat_arg_paths(self) -> list[str]:
        """Return the paths of the leaves that it reads."""
        return []


class UnflattenedModule(ExportedModule):
    """A module that runs a program, with the children of the module that was exported.

    Args:
        export_module: the program.
        flat_args_adapter: is asked when arguments have another structure than the example's.
    """

    def __init__(
        self, export_module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None
    ) -> None:
        super().__init__(export_module, export_module.module())
        vars(self)["flat_args_adapter"] = flat_args_adapter

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program."""
        leaves, structure = tree_flatten((args, kwargs))
        goal = self._program.structure
        if self.flat_args_adapter is not None and goal not in (None, structure):
            leaves = self.flat_args_adapter.adapt(
                target_spec=goal, input_spec=structure, input_args=leaves
            )
            args, kwargs = tree_unflatten(leaves, goal)
        return self._program.run(args, kwargs)


def unflatten(
    module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None
) -> UnflattenedModule:
    """Return a module that runs a program, with the children of the module that was exported.

    Args:
        module: the program.
        flat_args_adapter: is asked when arguments have another structure than the example's.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.ReLU())
        >>> program = torch.export.export(model, (torch.ones(4, 2),))
        >>> [name for name, _ in torch.export.unflatten(program).named_modules()]
        ['', '0', '1']
    """
    return UnflattenedModule(module, flat_args_adapter)


__all__ = ["FlatArgsAdapter", "UnflattenedModule", "unflatten"]
