"""The version of PyTorch whose interface this is, for libraries that ask for a lowest one."""

__version__ = "2.13.0"
cuda = None
hip = None
rocm = None
xpu = None
debug = False
# The values of a PyTorch that was built outside of its repository.
git_version = "Unknown"

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]
