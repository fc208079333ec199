"""The version of PyTorch whose interface this is, for libraries that ask for a lowest one."""

__version__ = "2.13.0"
cuda = None
hip = None
xpu = None
debug = False

__all__ = ["__version__", "cuda", "debug", "hip", "xpu"]
