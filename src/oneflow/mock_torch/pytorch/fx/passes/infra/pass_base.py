"""Passes over graph modules: ``torch.fx.passes.infra.pass_base``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple


class PassResult(NamedTuple):
    """The outcome of a pass.

    Attributes:
        graph_module: the module.
        modified: whether the pass has changed it.
    """

    graph_module: Any
    modified: bool


class PassBase(ABC):
    """A pass: `call`, between a check of what it requires and one of what it ensures."""

    def __call__(self, graph_module: Any) -> PassResult | None:
        """Run the pass and both checks."""
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abstractmethod
    def call(self, graph_module: Any) -> PassResult | None:
        """Run the pass."""

    def requires(self, graph_module: Any) -> None:  # noqa: B027 - a subclass may check nothing
        """Raise an error if the pass cannot be run."""

    def ensures(self, graph_module: Any) -> None:  # noqa: B027
        """Raise an error if the module is not what the pass promises."""
