"""Sparse tensors: positions and the values there.

Their operators are made of gathers and sums at places, so that gradients and all devices are those
of dense tensors. An `nn.Graph` takes and returns dense tensors only, and makes sparse ones of known
positions in `build`.
"""

from oneflow.sparse import dispatch as dispatch, methods as methods
from oneflow.sparse.creation import spdiags as spdiags
from oneflow.sparse.invariants import (
    check_sparse_tensor_invariants as check_sparse_tensor_invariants,
)
from oneflow.sparse.operators import (
    log_softmax as log_softmax,
    softmax as softmax,
    sum as sum,
)
from oneflow.sparse.products import (
    addmm as addmm,
    hspmm as hspmm,
    mm as mm,
    sampled_addmm as sampled_addmm,
    smm as smm,
    sspaddmm as sspaddmm,
)
from oneflow.sparse.tensor import SparseTensor as SparseTensor

__all__ = [
    "SparseTensor",
    "addmm",
    "check_sparse_tensor_invariants",
    "hspmm",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "smm",
    "softmax",
    "spdiags",
    "sspaddmm",
    "sum",
]
