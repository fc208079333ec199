"""The eager virtual machine: runs recorded programs, op by op at first, compiled when hot."""

from oneflow.compiler import jax_compat as _jax_compat  # configures JAX
