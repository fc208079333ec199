"""Parameters and buffers, under the path that users import them from."""

from oneflow.module.buffer import Buffer as Buffer, _BufferMeta as _BufferMeta
from oneflow.module.parameter import Parameter as Parameter, _ParameterMeta as _ParameterMeta
from oneflow.nn.modules.lazy import (
    UninitializedBuffer as UninitializedBuffer,
    UninitializedParameter as UninitializedParameter,
    is_lazy as is_lazy,
)
