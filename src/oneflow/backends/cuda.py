"""CUDA beneath XLA."""

from oneflow.cuda.backends import MATMUL as matmul, has_cuda as is_built

__all__ = ["is_built", "matmul"]
