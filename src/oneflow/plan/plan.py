"""`Plan`: the cost of one step of a graph on each device, and the SBP of all tensors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from oneflow.checkpoint.atomic_file import atomic_write
from oneflow.graph.graph import PLAN_GRAPH, Graph
from oneflow.plan.contents import PlanContents, contents_of
from oneflow.plan.estimate import CostEstimate
from oneflow.plan.page import page_of
from oneflow.plan.step_program import plan_step
from oneflow.plan.text import text_of
from oneflow.primitives.cost.chips import Chip


class Plan:
    """The cost of one step of a graph on each device, and the SBP of all tensors.

    Printing a plan shows both as tables.

    Attributes:
        contents: all of it, as data.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.plan import plan_graph, planning
        >>> class Double(flow.nn.Graph):
        ...     def build(self, x):
        ...         return 2 * x
        >>> with planning():
        ...     pair = flow.placement("cuda", [0, 1])
        ...     x = flow.ones(64, 32, placement=pair, sbp=flow.sbp.split(0))
        ...     plan = plan_graph(Double(), x, compile=False)
        >>> 0 < plan.seconds < 1
        True
    """

    def __init__(self, contents: PlanContents) -> None:
        self.contents = contents

    @property
    def account(self) -> CostEstimate:
        """Memory, operations and collectives of each device: by XLA if it compiled the step."""
        return self.contents.estimate

    @property
    def seconds(self) -> float:
        """A rough estimate of the step's time by the cost model, for comparing plans."""
        return sum(self.contents.seconds)

    def __repr__(self) -> str:
        return text_of(self.contents)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan as an HTML page, which needs nothing else.

        Raises:
            ValueError: the name is that of another kind of file.
        """
        if Path(path).suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"a plan is saved as a page; give `path` the ending .html, got {path}")
        with atomic_write(Path(path)) as file:
            file.write(page_of(self.contents).encode())

    def listing(self) -> str:
        """The plan as text with every single operator."""
        return text_of(self.contents, lists_all=True)


def plan_graph(
    graph: Graph, *args: Any, compile: bool = True, chip: Chip | None = None, **kwargs: Any
) -> Plan:
    """Return the plan of a call of a graph on the devices of its placement. Nothing runs.

    Args:
        graph: a graph on a placement, whose devices need not exist if it was made in `planning`.
        args: the arguments of a call of the graph.
        compile: compile with XLA too, if this process has enough devices to stand for the plan's.
        chip: the kind of the devices, for which XLA compiles then; see `chip_named`.
        kwargs: the arguments of a call of the graph.

    Raises:
        TypeError: the graph's tensors are local.
        RuntimeError: a package is missing to compile for the chip.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.plan import plan_graph, planning
        >>> class Product(flow.nn.Graph):
        ...     def build(self, x, y):
        ...         return x @ y
        >>> with planning():
        ...     grid = flow.placement("cuda", [[0, 1], [2, 3]])
        ...     x = flow.ones(64, 32, placement=grid, sbp=[flow.sbp.split(0), flow.sbp.broadcast])
        ...     y = flow.ones(32, 64, placement=grid, sbp=[flow.sbp.broadcast, flow.sbp.split(1)])
        ...     plan = plan_graph(Product(), x, y, compile=False)
        >>> plan.account.flops, plan.account.sent
        (65536, 0)
    """
    return Plan(contents_of(plan_step(graph, args, kwargs), compile, chip))


PLAN_GRAPH.fill(plan_graph)
