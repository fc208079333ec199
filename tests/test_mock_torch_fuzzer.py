"""Fuzzers draw the parameters that PyTorch's draw, and make tensors of the same sizes."""

from __future__ import annotations

import pytest
import torch
import torch.utils.benchmark

from tests.in_place import in_place_of

LIBRARIES = (in_place_of("torch"), torch)


def parameters(b):
    return [
        b.FuzzedParameter("dim", 1, 3, distribution="uniform", strict=True),
        [b.FuzzedParameter(f"k{i}", 2, 16, distribution="loguniform") for i in range(3)],
        b.FuzzedParameter("step", 1, 2, distribution="uniform"),
        b.FuzzedParameter("share", 0.0, 1.0, distribution="uniform"),
    ]


SIZE = ("k0", "k1", "k2")
FUZZERS = {
    "sizes": lambda t, b: b.Fuzzer(parameters(b), [b.FuzzedTensor("x", SIZE)], seed=3),
    "dimensions": lambda t, b: b.Fuzzer(
        parameters(b), [b.FuzzedTensor("x", SIZE, dim_parameter="dim")], seed=4
    ),
    "steps": lambda t, b: b.Fuzzer(
        parameters(b), [b.FuzzedTensor("x", (*SIZE, 2), steps=("step", 3), dtype=t.int64)], seed=5
    ),
    "limits": lambda t, b: b.Fuzzer(
        parameters(b),
        [
            b.FuzzedTensor("x", SIZE, min_elements=64, max_elements=512),
            [b.FuzzedTensor("y", SIZE, steps=(2,), max_allocation_bytes=4096, dtype=t.float64)],
        ],
        constraints=[lambda params: params["share"] < 0.7],
        seed=6,
    ),
    "a constructor": lambda t, b: b.Fuzzer(
        parameters(b),
        [
            b.FuzzedTensor(
                "x", SIZE, tensor_constructor=lambda size, dtype, step, **rest: t.full(size, step)
            )
        ],
        seed=7,
    ),
    "out of reach": lambda t, b: b.Fuzzer(
        parameters(b), [b.FuzzedTensor("x", SIZE, max_elements=0)], seed=8
    ),
    "one name twice": lambda t, b: b.Fuzzer(parameters(b), [b.FuzzedTensor("dim", SIZE)]),
    "an unknown distribution": lambda t, b: b.FuzzedParameter("x", 1, 2, distribution="normal"),
    "limits beside probabilities": lambda t, b: b.FuzzedParameter("x", 1, distribution={1: 0.5}),
}


def outcome(library, name):
    try:
        fuzzer = FUZZERS[name](library, library.utils.benchmark)
        rows = [
            (
                params,
                {key: list(tensor.shape) for key, tensor in tensors.items()},
                {
                    key: (text["numel"], list(text["order"]), list(text["steps"]))
                    for key, text in descriptions.items()
                },
            )
            for tensors, descriptions, params in fuzzer.take(6)
        ]
    except Exception as error:
        return type(error).__name__
    return rows, fuzzer.rejection_rate


@pytest.mark.parametrize("name", FUZZERS)
def test_fuzzers_draw_as_pytorchs(name):
    ours, theirs = (outcome(library, name) for library in LIBRARIES)
    assert ours == theirs


def test_probabilities_and_aliases():
    """PyTorch 2.13 refuses probabilities that sum to one."""
    b = in_place_of("torch.utils.benchmark")
    lengths = [
        b.FuzzedParameter("n", 4, 9, distribution="uniform"),
        b.FuzzedParameter("m", distribution={1: 0.5, b.ParameterAlias("n"): 0.5}),
    ]
    fuzzer = b.Fuzzer(lengths, [b.FuzzedTensor("x", ("m",))], seed=1)
    rows = [(params["n"], tuple(tensors["x"].shape)) for tensors, _, params in fuzzer.take(20)]
    assert {shape == (1,) for _, shape in rows} == {True, False}
    assert all(shape in ((1,), (n,)) for n, shape in rows)
    cycle = [
        b.FuzzedParameter(name, distribution={b.ParameterAlias(other): 1.0})
        for name, other in ("ab", "ba")
    ]
    with pytest.raises(ValueError, match="aliases"):
        next(b.Fuzzer(cycle, []).take(1))
