"""The eager virtual machine: runs recorded programs, op by op at first, compiled when hot."""

from oneflow.base import heap as _heap  # first: threads keep the heap that they start with

# isort: split
from oneflow.compiler import jax_compat as _jax_compat  # configures JAX

# isort: split
from oneflow.runtime import forking as _forking  # registers what copies of the process do
