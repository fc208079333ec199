"""Estimates of NumPy's time for equations, precise enough to decide what to compile.

Rates are round figures for one CPU core and arrays that fit into its caches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from oneflow.interpreter.flat_jaxpr import FlatEquation, equations_of
from oneflow.interpreter.rules import dtype_of, is_float, shape_of
from oneflow.primitives.jax_primitives import SCATTER_REDUCTIONS, VIEWS
from oneflow.primitives.trace import Trace

# Seconds of a call of a NumPy function.
_CALL = 1.5e-6
# Primitives that run jaxprs, and iterations of a loop whose number is not known.
_REPEATED = frozenset(("scan", "while", "cond"))
_ITERATIONS = 16
# Nanoseconds per element: of the larger of operands and results. Views cost nothing.
_FUNCTIONS = (
    "exp",
    "exp2",
    "log",
    "expm1",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "atan2",
    "cbrt",
    "erf",
    "erfc",
    "erf_inv",
    "pow",
    "lgamma",
    "logistic",
    "div",
    "rem",
    "argmax",
    "argmin",
    "cumsum",
    "cumprod",
    "cummax",
    "running_argmax",
    "running_argmin",
    "running_logaddexp",
    "running_max",
    "running_product",
    "running_sum",
)
_NS_PER_ELEMENT = {
    **dict.fromkeys(VIEWS, 0.0),
    **dict.fromkeys(_FUNCTIONS, 6.0),
    **dict.fromkeys(("sort", "sort_random", "top_k"), 80.0),
    "fft": 20.0,
    "philox4x32": 20.0,
    **dict.fromkeys(SCATTER_REDUCTIONS, 25.0),
    **dict.fromkeys(("gather", "scatter", "select_n"), 4.0),
}
_OTHERS = 1.0
# Floating point operations per second of products, and of those of integers, without BLAS.
_PRODUCTS, _INTEGER_PRODUCTS = 2e10, 5e8
# Floating point operations of decompositions, in products of both sizes of a matrix and the smaller
# one, and per second; and nanoseconds for each matrix of a batch.
_DECOMPOSITIONS = {
    "cholesky": 1 / 3,
    "eigh": 9.0,
    "geqrf": 2.0,
    "householder_product": 2.0,
    "lu": 1.0,
    "qr": 4.0,
    "svd": 20.0,
    "triangular_solve": 1.0,
}
_DECOMPOSED, _MATRIX = 5e9, 1e4
# Nanoseconds per element of the windows of a convolution, which are copied next to each other.
_WINDOW = 2.0


class Seconds(NamedTuple):
    """An estimate of running time.

    Attributes:
        calls: seconds whatever the sizes.
        elements: seconds for the numbers.
        num_eqns: the number of equations, on which the time of compiling depends.
        product: seconds of the largest product of two matrices.
    """

    calls: float
    elements: float
    num_eqns: int
    product: float


def estimate(eqns: Sequence[FlatEquation]) -> Seconds:
    """Seconds that NumPy takes for equations."""
    calls = elements = product = 0.0
    num_eqns = len(eqns)
    for equation in eqns:
        if equation.primitive.name not in _REPEATED:
            calls += _CALL
            elements += _element_seconds(equation)
            product = max(product, _product_seconds(equation))
            continue
        name, times = equation.primitive.name, 1
        if name != "cond":
            times = equation.params["length"] if name == "scan" else _ITERATIONS
        for body in _body_seconds(equation):
            calls += times * body.calls
            elements += times * body.elements
            num_eqns += body.num_eqns
            product = max(product, body.product)
    return Seconds(calls, elements, num_eqns, product)


def joined(parts: Sequence[Seconds]) -> Seconds:
    """Seconds for all parts together."""
    calls, elements, num_eqns, products = zip(*parts, strict=True)
    return Seconds(sum(calls), sum(elements), sum(num_eqns), max(products))


def _body_seconds(equation: FlatEquation) -> list[Seconds]:
    """Estimates of the jaxprs inside a loop or branch, each run once."""
    parameters: list[Any] = []
    for value in equation.params.values():
        parameters += value if type(value) is tuple else [value]
    return [
        estimate(equations_of(parameter)) for parameter in parameters if type(parameter) is Trace
    ]


def _element_seconds(equation: FlatEquation) -> float:
    name = equation.primitive.name
    shapes = [shape_of(atom) for atom in (*equation.invars, *equation.outvars)]
    if name == "dot_general":
        return _flops(equation) / _product_rate(equation)
    if name == "conv_general_dilated":
        features = equation.params["dimension_numbers"].rhs_spec[0]
        flops = _flops(equation)
        copied = flops // (2 * max(shapes[1][features], 1))
        return flops / _product_rate(equation) + 1e-9 * _WINDOW * copied
    if name in _DECOMPOSITIONS:
        *batch, rows, columns = shapes[0]
        flops = _DECOMPOSITIONS[name] * rows * columns * min(rows, columns)
        return math.prod(batch) * (flops / _DECOMPOSED + 1e-9 * _MATRIX)
    size = max(map(math.prod, shapes))
    if name.startswith("reduce_window"):
        size *= math.prod(equation.params["window_dimensions"])
    return 1e-9 * _NS_PER_ELEMENT.get(name, _OTHERS) * size


def _product_seconds(equation: FlatEquation) -> float:
    """Seconds of each of the products that an equation consists of; 0 if there are none."""
    if equation.primitive.name == "dot_general":
        _, (batch, _) = equation.params["dimension_numbers"]
        count = math.prod(shape_of(equation.invars[0])[dim] for dim in batch)
    elif equation.primitive.name == "conv_general_dilated":
        count = equation.params["feature_group_count"] * equation.params["batch_group_count"]
    else:
        return 0.0
    return _flops(equation) / max(count, 1) / _product_rate(equation)


def _flops(equation: FlatEquation) -> int:
    """Floating point operations of products or a convolution."""
    x, y, result = [shape_of(atom) for atom in (*equation.invars, *equation.outvars)]
    if equation.primitive.name == "dot_general":
        (contracting, _), _ = equation.params["dimension_numbers"]
        return 2 * math.prod(result) * math.prod(x[dim] for dim in contracting)
    features = equation.params["dimension_numbers"].rhs_spec[0]
    kernel = math.prod(y) // max(y[features], 1)
    # Gaps between the elements of an image are not multiplied.
    return 2 * math.prod(result) * kernel // math.prod(equation.params["lhs_dilation"])


def _product_rate(equation: FlatEquation) -> float:
    dtype = dtype_of(equation.outvars[0])
    return _PRODUCTS if is_float(dtype) or dtype.kind == "c" else _INTEGER_PRODUCTS
