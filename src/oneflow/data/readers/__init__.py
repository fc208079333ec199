"""Readers of record files, and the decoders and image functions behind them.

Files, records and images of different sizes live on the host, as `TensorBuffer`. Data of one shape
for all samples becomes a tensor. In `build` of a graph, and in the body of a job, nothing is read
while the step is recorded: the tensors are inputs, `HostInput`s, that every call reads anew.
"""

from oneflow.base.lazy_import import lazy_getattr as _lazy_getattr

# `oneflow.detection` is this module.
__getattr__ = _lazy_getattr(__name__, ("objects",))
