"""Names of ``torch.fx.proxy`` that libraries import."""

from oneflow.mock_torch.pytorch.fx.symbolic import Proxy, Tracer


class GraphAppendingTracer(Tracer):
    """The type of what adds nodes to a symbolic graph."""


class TraceError(ValueError):
    """The error of symbolic tracing where a function asks for a value."""


__all__ = ["GraphAppendingTracer", "Proxy", "TraceError"]
