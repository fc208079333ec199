"""OneFlow models to ONNX, and ONNX models to OneFlow.

`oneflow_onnx.oneflow2onnx` exports. The package stands on OneFlow's public API and on the programs
that graphs record; OneFlow never imports it, except when `oneflow.onnx.export` is called.
"""

from oneflow.base.extras import extra as _extra
from oneflow.version import __version__ as __version__

with _extra("onnx", "`oneflow_onnx`"):
    # Every module of the package imports one of them.
    import onnx  # noqa: F401
    import onnx_ir  # noqa: F401

__all__ = ["__version__"]
