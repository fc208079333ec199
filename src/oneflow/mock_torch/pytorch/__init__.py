"""Names that PyTorch has and `oneflow` has not, or means otherwise, at PyTorch's paths.

A name of ``torch.x.y`` is looked for in ``x/y`` of this folder first, then in ``oneflow.x.y``.
Libraries import much of PyTorch's compiler without using it: its names here say that nothing is
compiled or traced, which is so, and what cannot act raises an error that says what can.
"""

from oneflow import segment_reduce as _segment_reduce
from oneflow.mock_torch.pytorch import __config__ as __config__
from oneflow.mock_torch.pytorch.archives import (
    PyTorchFileReader as PyTorchFileReader,
    PyTorchFileWriter as PyTorchFileWriter,
)
from oneflow.mock_torch.pytorch.creation import (
    as_tensor as as_tensor,
    range_ as range,
    tensor as tensor,
)
from oneflow.mock_torch.pytorch.devices import device as device
from oneflow.mock_torch.pytorch.futures import Future as Future
from oneflow.mock_torch.pytorch.jit import (
    ScriptFunction as ScriptFunction,
    ScriptModule as ScriptModule,
)
from oneflow.mock_torch.pytorch.serialization import load as load, save as save
from oneflow.mock_torch.pytorch.top_level import (
    DeviceObjType as DeviceObjType,
    Stream as Stream,
    SymBool as SymBool,
    SymFloat as SymFloat,
    SymInt as SymInt,
    __version__ as __version__,
    _assert as _assert,
    _assert_async as _assert_async,
    _shape_as_tensor as _shape_as_tensor,
    allclose as allclose,
    chalf as chalf,
    compile as compile,
    complex32 as complex32,
    float8_e4m3fn as float8_e4m3fn,
    float8_e4m3fnuz as float8_e4m3fnuz,
    float8_e5m2 as float8_e5m2,
    float8_e5m2fnuz as float8_e5m2fnuz,
    float8_e8m0fnu as float8_e8m0fnu,
    isclose as isclose,
    jagged as jagged,
    randint_like as randint_like,
    sparse_bsc as sparse_bsc,
    sparse_bsr as sparse_bsr,
)

__all__ = [
    "DeviceObjType",
    "Future",
    "PyTorchFileReader",
    "PyTorchFileWriter",
    "ScriptFunction",
    "ScriptModule",
    "Stream",
    "SymBool",
    "SymFloat",
    "SymInt",
    "__version__",
    "_assert",
    "_assert_async",
    "_segment_reduce",
    "_shape_as_tensor",
    "allclose",
    "as_tensor",
    "chalf",
    "compile",
    "complex32",
    "device",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "isclose",
    "jagged",
    "load",
    "randint_like",
    "range",
    "save",
    "sparse_bsc",
    "sparse_bsr",
    "tensor",
]
