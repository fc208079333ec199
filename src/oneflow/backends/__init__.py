"""Libraries beneath PyTorch, by the names by which scripts set their switches."""

from oneflow.backends import cuda as cuda, cudnn as cudnn, mps as mps

__all__ = ["cuda", "cudnn", "mps"]
