"""The version of flowvision; it is released together with OneFlow."""

from oneflow import __version__ as __version__

__all__ = ["__version__"]
