"""Job functions, OneFlow's first interface: a layer over `nn.Graph`, placements and SBP.

A job is a function whose arguments are annotated with placeholders. Its body runs twice: once
without data, to learn which variables, optimizers and results it has, and once while a graph
records it. Blobs, the values inside a body, are tensors of that graph.
"""

from oneflow.base.lazy_import import lazy_getattr as _lazy_getattr

# Modules of this room that `oneflow` has under the same names.
__getattr__ = _lazy_getattr(__name__, ("losses", "quantization"))
