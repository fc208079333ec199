"""Functions take an `out=` of the dtypes that PyTorch's take."""

from __future__ import annotations

import pytest
import torch

import oneflow as flow

DTYPES = (
    "bool",
    "uint8",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)


def index(f):
    return f.tensor([0, 1])


def positions(f):
    return f.zeros(2, 2, dtype=f.int64)


OF_ONE = """
    neg floor ceil trunc round sgn sign tril triu bitwise_not signbit isposinf sqrt exp sigmoid
    all any amax msort nan_to_num nonzero histc frac abs argmax argmin norm
"""
OF_TWO = "add mul div eq lt matmul mm heaviside isin maximum logical_and"


def call_of(name, count):
    return lambda f, x, out: getattr(f, name)(*[x] * count, out=out)


# Calls with a matrix of ones and an `out=` without elements.
CALLS = {
    **{name: call_of(name, 1) for name in OF_ONE.split()},
    **{name: call_of(name, 2) for name in OF_TWO.split()},
    "gather": lambda f, x, out: f.gather(x, 0, positions(f), out=out),
    "index_select": lambda f, x, out: f.index_select(x, 0, index(f), out=out),
    "index_copy": lambda f, x, out: f.index_copy(x, 0, index(f), x, out=out),
    "scatter_add": lambda f, x, out: f.scatter_add(x, 0, positions(f), x, out=out),
    "where": lambda f, x, out: f.where(x > 0, x, x, out=out),
    "addmm": lambda f, x, out: f.addmm(x, x, x, out=out),
    "searchsorted": lambda f, x, out: f.searchsorted(x, x, out=out),
    "quantile": lambda f, x, out: f.quantile(x, 0.5, out=out),
    "inv": lambda f, x, out: f.linalg.inv(x + f.eye(2), out=out),
    "permute_copy": lambda f, x, out: f.permute_copy(x, (1, 0), out=out),
    "max of a dimension": lambda f, x, out: f.max(x, 0, out=(out, f.empty(0, dtype=f.int64))),
    "indices of max": lambda f, x, out: f.max(x, 0, out=(f.empty(0, dtype=x.dtype), out)),
    "sort": lambda f, x, out: f.sort(x, 0, out=(out, f.empty(0, dtype=f.int64))),
    "qr": lambda f, x, out: f.linalg.qr(x, out=(out, f.empty(0, dtype=x.dtype))),
    "eig": lambda f, x, out: f.linalg.eig(x + f.eye(2), out=(out, f.empty(0) + 0j)),
    "frexp": lambda f, x, out: f.frexp(x, out=(out, f.empty(0, dtype=f.int32))),
    "argmax of a dimension": lambda f, x, out: f.argmax(x, 0, out=out),
    "softmax": lambda f, x, out: f.softmax(x, 0, out=out),
    "softmax of a dtype": lambda f, x, out: f.softmax(x, 0, dtype=f.float64, out=out),
    "log_softmax": lambda f, x, out: f.log_softmax(x, 0, out=out),
    "vector_norm of a dtype": lambda f, x, out: f.linalg.vector_norm(x, dtype=f.float64, out=out),
    "sum": lambda f, x, out: f.sum(x, 0, out=out),
    "cumsum": lambda f, x, out: f.cumsum(x, 0, out=out),
    "cumprod": lambda f, x, out: f.cumprod(x, 0, out=out),
    "cumsum of a dtype": lambda f, x, out: f.cumsum(x, 0, dtype=f.float32, out=out),
    "zeros of a dtype": lambda f, x, out: f.zeros(2, dtype=f.int64, out=out),
    "cat": lambda f, x, out: f.cat([x, x], out=out),
}
for path in ("vector_norm", "matrix_norm", "norm"):
    CALLS[f"linalg.{path}"] = lambda f, x, out, path=path: getattr(f.linalg, path)(x, out=out)
# PyTorch sums to truth values; here lengths of real numbers, too, are written as complex ones.
ACCEPTED_BY_ONE = {("sum", "bool"), ("abs", "complex64"), ("abs", "complex128")}


@pytest.mark.parametrize("name", CALLS)
def test_out_is_refused_where_pytorch_refuses_it(name):
    refused = {}
    for framework in (torch, flow):
        for operand in ("float32", "int64", "bool"):
            for dtype in DTYPES:
                x = framework.ones(2, 2, dtype=getattr(framework, operand))
                out = framework.empty(0, dtype=getattr(framework, dtype))
                try:
                    CALLS[name](framework, x, out)
                    is_refused = False
                except (RuntimeError, TypeError):
                    is_refused = True
                refused.setdefault((operand, dtype), []).append(is_refused)
    # An operand that no `out=` suits is not taken at all.
    taken = {operand for (operand, _), (theirs, _) in refused.items() if not theirs}
    differ = {
        (operand, dtype)
        for (operand, dtype), (theirs, ours) in refused.items()
        if theirs != ours and operand in taken and (name, dtype) not in ACCEPTED_BY_ONE
    }
    assert differ == set()
