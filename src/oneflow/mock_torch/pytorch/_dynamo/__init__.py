"""``torch._dynamo``: marks for a compiler of Python code, which does not exist here."""

from oneflow.mock_torch.pytorch._dynamo.marks import (
    allow_in_graph as allow_in_graph,
    assume_constant_result as assume_constant_result,
    disable as disable,
    is_compiling as is_compiling,
    mark_dynamic as mark_dynamic,
    mark_static as mark_static,
    mark_static_address as mark_static_address,
    maybe_mark_dynamic as maybe_mark_dynamic,
    reset as reset,
)
from oneflow.mock_torch.pytorch.compiler import list_backends as list_backends
