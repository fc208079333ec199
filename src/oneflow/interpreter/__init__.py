"""Jaxprs evaluated on NumPy: what runs before anything is compiled.

An operator's only definition is its JAX implementation. Traced, that is a jaxpr: a list of
equations, each with one of JAX's primitives. Here every such primitive has a rule that gives its
NumPy function. A jaxpr with a primitive that has none is not interpreted; it is compiled.
"""

from oneflow.interpreter import (
    control_flow as control_flow,
    elementwise as elementwise,
    fourier as fourier,
    indexing as indexing,
    linalg as linalg,
    products as products,
    random_bits as random_bits,
    reductions as reductions,
    shapes as shapes,
    special_functions as special_functions,
    windows as windows,
)
