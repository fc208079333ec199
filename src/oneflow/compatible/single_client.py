"""Job functions' `oneflow`: all of its names, with the arguments that they had then."""

from oneflow.legacy.single_client import __getattr__ as __getattr__

__path__: list[str] = []  # a package: modules in it are `base.import_paths`

# isort: split
# Generated from the function registry by `tools/make_facades.py` (make stubs).
from oneflow.legacy_functions.replaced import (
    argsort as argsort,
    clamp as clamp,
    clamp as clip,
    concat as concat,
    gather as gather,
    ones as ones,
    ones_like as ones_like,
    pad as pad,
    scatter_nd as scatter_nd,
    slice_ as slice,
    sort as sort,
    tensor_scatter_nd_update as tensor_scatter_nd_update,
    transpose as transpose,
    zeros as zeros,
    zeros_like as zeros_like,
)

# fmt: off
__all__ = [
    "argsort", "clamp", "clip", "concat", "gather", "ones", "ones_like", "pad", "scatter_nd",
    "slice", "sort", "tensor_scatter_nd_update", "transpose", "zeros", "zeros_like",
]
# fmt: on
