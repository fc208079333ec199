"""Names of ``torch.fx.graph_module`` that libraries import."""

from oneflow.mock_torch.missing import MissingTracing, raise_tracing as _copy_attr
from oneflow.mock_torch.pytorch.fx.symbolic import GraphModule

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"


class _CodeOnlyModule(MissingTracing):
    """The type of modules that are read from their code."""


__all__ = ["_USER_PRESERVED_ATTRIBUTES_KEY", "GraphModule", "_CodeOnlyModule", "_copy_attr"]
