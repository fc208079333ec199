"""``torch.utils.data.graph``: the pipes behind a pipe."""

from oneflow.data.pipe_graph import PipeGraph as DataPipeGraph, traverse, traverse_dps

__all__ = ["DataPipeGraph", "traverse", "traverse_dps"]
