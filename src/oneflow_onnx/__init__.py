"""OneFlow models to ONNX, and ONNX models to OneFlow.

`oneflow_onnx.oneflow2onnx` exports. The package stands on OneFlow's public API and on the programs
that graphs record; OneFlow never imports it, except when `oneflow.onnx.export` is called.
"""

from oneflow.version import __version__ as __version__
from oneflow_onnx import packages as packages

__all__ = ["__version__"]
__suggest_names__ = True
