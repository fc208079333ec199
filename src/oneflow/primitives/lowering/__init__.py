"""Implementations for one platform where the general one is slow; importing this registers them."""

from oneflow.primitives.lowering import (
    complex_special_values as complex_special_values,
    cpu_argmax as cpu_argmax,
    cpu_conv as cpu_conv,
    cpu_elementwise as cpu_elementwise,
    cpu_matmul as cpu_matmul,
    cpu_pool as cpu_pool,
    cpu_rnn as cpu_rnn,
)
