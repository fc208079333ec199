"""CUDA beneath XLA."""

from oneflow.cuda.backends import has_cuda as is_built

__all__ = ["is_built"]
