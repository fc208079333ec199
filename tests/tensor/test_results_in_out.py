"""The dtype of a tensor given as `out=` stays, and says the dtype of what is made."""

from __future__ import annotations

import pytest
import torch

import oneflow as flow

# Each with arguments whose result has four elements.
CALLS = {
    "arange": lambda f: (f.arange, (0, 4)),
    "eye": lambda f: (f.eye, (2,)),
    "full": lambda f: (f.full, ((2, 2), 3.5)),
    "linspace": lambda f: (f.linspace, (0, 3, 4)),
    "logspace": lambda f: (f.logspace, (0, 1, 4)),
    "ones": lambda f: (f.ones, (4,)),
    "randint": lambda f: (f.randint, (2, 3, (4,))),
    "zeros": lambda f: (f.zeros, (2, 2)),
    "add": lambda f: (f.add, (f.ones(4), f.ones(4))),
    "cumprod": lambda f: (f.cumprod, (f.full((4,), 1.5), 0)),
    "cumsum": lambda f: (f.cumsum, (f.full((4,), 1.5), 0)),
    "maximum": lambda f: (f.maximum, (f.ones(4).int(), f.ones(4).int())),
    "mean": lambda f: (f.mean, (f.ones(3, 4), 0)),
    "prod": lambda f: (f.prod, (f.full((3, 4), 1.5), 0)),
    "sqrt": lambda f: (f.sqrt, (f.ones(4).int(),)),
    "sum": lambda f: (f.sum, (f.full((3, 4), 1.5), 0)),
}


def result_of(framework, name, dtype, shape):
    """Return dtype, shape and values of the result, or nothing if the call is refused."""
    function, arguments = CALLS[name](framework)
    out = framework.ones(shape, dtype=getattr(framework, dtype))
    try:
        result = function(*arguments, out=out)
    except RuntimeError:
        assert framework is torch or out.tolist() == flow.ones(shape).tolist()
        return None
    assert result is out
    return str(out.dtype).rpartition(".")[2], tuple(out.shape), out.flatten().tolist()


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("shape", [(0,), (4,)], ids=str)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", CALLS)
def test_as_in_pytorch(name, dtype, shape):
    expected = result_of(torch, name, dtype, shape)
    got = result_of(flow, name, dtype, shape)
    if name in ("arange", "randint") and dtype == "complex64":
        assert expected is None  # only PyTorch refuses them
    elif expected is None:
        assert got is None
    else:
        assert got[:2] == expected[:2]
        assert got[2] == pytest.approx(expected[2])


def test_norms_of_complex_numbers_are_real():
    out = flow.zeros(4)
    assert flow.linalg.norm(flow.full((4, 9), 3 + 4j), dim=1, out=out) is out
    assert out.tolist() == [15.0] * 4


def test_a_step_that_is_0_in_the_dtype_of_out_is_refused():
    with pytest.raises(ValueError, match="step"):
        flow.arange(0, 64, 0.5, out=flow.ones(0, dtype=flow.int64))


def test_a_given_dtype_is_that_of_out():
    out = flow.zeros(4, dtype=flow.int64)
    assert flow.cumsum(flow.full((4,), 1.5), 0, dtype=flow.int64, out=out) is out
    assert out.tolist() == [1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="must be that of `out`"):
        flow.cumsum(flow.full((4,), 1.5), 0, dtype=flow.float64, out=out)


@pytest.mark.parametrize("name", ["arange", "linspace", "logspace"])
def test_sequences_fill_views_of_any_shape(name):
    written = []
    for f in (flow, torch):
        memory = f.zeros(2, 3)
        out = memory.narrow(1, 1, 2)
        arguments = (4,) if name == "arange" else (0, 3, 4)
        assert getattr(f, name)(*arguments, out=out) is out
        written.append((out.tolist(), memory.tolist()))
    assert written[0] == written[1]


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("count", [2, 3, 5, 8])
def test_a_view_of_another_shape_is_written_to_in_its_memory(count):
    written = []
    for f in (flow, torch):
        memory = f.zeros(6)
        out = memory[2:4]
        f.add(f.arange(float(count)), 1, out=out)
        written.append((out.tolist(), memory.tolist()))
    assert written[0] == written[1]
