"""`vmap`: what it maps, and what it refuses, against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.autograd.both import agree, outcome

BATCH = [[1.0, 4.0], [-2.0, 8.0], [3.0, -1.0]]


def mapped(function, **options):
    """A case: a function of a row and the library, mapped over a batch."""
    return lambda lib: lib.func.vmap(lambda row: function(row, lib), **options)(lib.tensor(BATCH))


MAPPED = {
    "a read that is the same for all": mapped(lambda v, lib: v * lib.ones(2).sum().item()),
    "a branch that is the same for all": mapped(lambda v, lib: v if lib.ones(1) > 0 else -v),
    "printing": mapped(lambda v, lib: v * len(str(v)[:1])),
    "a result that is the same for all": mapped(lambda v, lib: lib.ones(2)),
    "a result without a batch": mapped(lambda v, lib: lib.ones(2), out_dims=None),
    "no tensor": mapped(lambda v, lib: "text", out_dims=None),
    "no tensor among results": mapped(lambda v, lib: (v, [None, 2]), out_dims=(0, None)),
    "dropout of nothing": mapped(lambda v, lib: lib.nn.functional.dropout(v, 0.0)),
    "dropout in evaluation": mapped(lambda v, lib: lib.nn.functional.dropout(v, training=False)),
    "a dict": mapped(lambda v, lib: {"a": v, "b": v.sum()}["b"]),
    "another dimension": mapped(lambda v, lib: v * 2, in_dims=1, out_dims=-1),
    "an empty batch": lambda lib: lib.func.vmap(lambda v: (v.sum(), v[None]))(lib.ones(0, 2)),
    "an empty batch elsewhere": lambda lib: lib.func.vmap(lambda v: v * 2, 1, 1)(lib.ones(2, 0)),
    "structures of dimensions": lambda lib: lib.func.vmap(
        lambda given, rest: given["a"] * given["b"] + rest[0],
        in_dims=({"a": 0, "b": None}, [1]),
    )({"a": lib.tensor(BATCH), "b": lib.ones(2)}, [lib.tensor(BATCH).T]),
    "a number": lambda lib: lib.func.vmap(lambda v, k: v * k, in_dims=(0, None))(
        lib.tensor(BATCH), 3.0
    ),
    "numbers by keyword": lambda lib: lib.func.vmap(lambda v, k: v * k)(lib.tensor(BATCH), k=3.0),
}


@pytest.mark.parametrize("name", MAPPED)
def test_results_are_pytorchs(name):
    agree(MAPPED[name])


REFUSED = {
    "item": mapped(lambda v, lib: v.sum().item()),
    "item in a product": mapped(lambda v, lib: v * v.sum().item()),
    "float": mapped(lambda v, lib: v * float(v.sum())),
    "tolist": mapped(lambda v, lib: v * v.tolist()[0]),
    "numpy": mapped(lambda v, lib: lib.tensor(v.numpy() * 2)),
    "a branch": mapped(lambda v, lib: v * 2 if v[0] > 0 else v),
    "a loop": mapped(lambda v, lib: sum(v for _ in range(int(v[1])))),
    "nonzero": mapped(lambda v, lib: (v > 0).nonzero()),
    "a mask": mapped(lambda v, lib: v[v > 0]),
    "random numbers": mapped(lambda v, lib: v + lib.randn(2)),
    "a generator's": mapped(lambda v, lib: v + lib.rand(2, generator=lib.Generator())),
    "dropout": mapped(lambda v, lib: lib.nn.functional.dropout(v)),
    "a nested map": mapped(lambda v, lib: lib.func.vmap(lambda x: x * x.item())(v)),
    "inside a gradient": mapped(
        lambda v, lib: lib.func.grad(lambda x: (x * x.sum().item()).sum())(v)
    ),
    "a number as result": mapped(lambda v, lib: 1.0),
    "a number among results": mapped(lambda v, lib: (v, 1)),
    "None among results": mapped(lambda v, lib: (v, None)),
    "a result with a batch": mapped(lambda v, lib: v, out_dims=None),
    "another randomness": mapped(lambda v, lib: v, randomness="other"),
    "no chunks": mapped(lambda v, lib: v, chunk_size=0),
    "a mapped number": lambda lib: lib.func.vmap(lambda v, k: v * k)(lib.tensor(BATCH), 3.0),
    "dimensions of another form": lambda lib: lib.func.vmap(lambda v: v, in_dims=([0, 0],))(
        [lib.ones(2)]
    ),
    "dimensions for more": lambda lib: lib.func.vmap(lambda v: v, in_dims=(0, 0))(lib.ones(2)),
    "a backward pass": mapped(lambda v, lib: lib.ones(1, requires_grad=True).sum().backward() or v),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused(name):
    ours, theirs = (outcome(REFUSED[name], lib) for lib in (flow, torch))
    assert theirs[0] in ("RuntimeError", "ValueError"), theirs
    assert ours[0] == theirs[0], (ours, theirs)


@pytest.mark.parametrize("generator", [None, flow.Generator()])
def test_random_numbers_are_the_same_or_different(generator):
    rows = flow.zeros(4, 3)

    def draw(row):
        return row + flow.rand(3, generator=generator) + flow.rand(3, generator=generator)

    same = flow.func.vmap(draw, randomness="same")(rows).numpy()
    assert (same == same[0]).all()
    assert not (same[0] == flow.func.vmap(draw, randomness="same")(rows).numpy()[0]).any()
    different = flow.func.vmap(draw, randomness="different")(rows).numpy()
    assert len(np.unique(different)) == different.size


def test_refused_random_numbers_are_not_drawn():
    state = flow.get_rng_state()
    with pytest.raises(RuntimeError, match="`randomness`"):
        flow.func.vmap(lambda row: row + flow.randn(2))(flow.ones(2, 2))
    assert flow.equal(flow.get_rng_state(), state)


def test_maps_in_maps_draw_as_the_outer_one_says():
    rows = flow.zeros(2, 3)

    def inner(row):
        return flow.func.vmap(lambda x: x + flow.rand(()), randomness="different")(row)

    with pytest.raises(RuntimeError, match="`randomness`"):
        flow.func.vmap(inner)(rows)
    same = flow.func.vmap(inner, randomness="same")(rows).numpy()
    assert (same[0] == same[1]).all()
    assert len(np.unique(same[0])) == 3


@pytest.mark.parametrize("dtype", [flow.bool, flow.uint8, flow.int32, flow.float32])
def test_an_empty_batch_has_elements_of_its_dtype(dtype):
    seen = []
    flow.vmap(lambda x: seen.append(x.dtype) or x)(flow.zeros(0, 2, dtype=dtype))
    assert seen == [dtype]


def written_elements(lib):
    x = lib.tensor(BATCH)
    result = lib.func.vmap(lambda row: row.neg_())(x)
    result[0, 0] = 7
    return x, result, result is x


def viewed(function, **options):
    """A case: what is written to the mapped views of a batch is in the batch."""

    def case(lib):
        x = lib.arange(24.0).reshape(2, 3, 4).clone().requires_grad_()
        copy = x * 1
        result = lib.func.vmap(function, **options)(copy)
        shares, place = result._base is copy, (result.stride(), result.storage_offset())
        result.mul_(result.detach().clone())
        copy.sum().backward()
        return copy, result, x.grad, shares, place

    return case


VIEWED = {
    "written elements": written_elements,
    "elements": viewed(lambda v: v),
    "elements along another dimension": viewed(lambda v: v, in_dims=1, out_dims=-1),
    "parts": viewed(lambda v: v[1:, ::2]),
    "a transposed part": viewed(lambda v: v[1:].t(), in_dims=2, out_dims=1),
    "a number of each": viewed(lambda v: v[1, 2]),
    "elements of elements": lambda lib: viewed(lib.func.vmap(lambda v: v[1:], out_dims=1))(lib),
    "real parts": lambda lib: lib.func.vmap(lambda v: v.real)(lib.ones(2, 3, dtype=lib.complex64)),
    "conjugates": lambda lib: lib.func.vmap(lambda v: v.conj())(lib.ones(2, 3) * 1j).resolve_conj(),
    "smaller elements": lambda lib: lib.func.vmap(lambda v: v.view(lib.int16))(lib.ones(2, 3)),
    "one element": lambda lib: lib.func.vmap(lambda v: v[1:])(lib.ones(1, 3)),
}


# Functions with strides and offsets, which count from where an element begins.
STRIDED = {
    "offset": lambda v: v.as_strided((2, 2), (4, 1), 1),
    "no offset": lambda v: v.as_strided((2,), (1,)),
    "of a part": lambda v: v[:2].as_strided((2,), (1,), 1),
    "of a view with strides": lambda v: v.as_strided((3,), (2,), 1).as_strided((2,), (2,), 3),
    "copied": lambda v: v.as_strided((2,), (1,), 1).clone(),
    "written": lambda v: v.as_strided((1,), (2,), 1).mul_(3),
    "place": lambda v: v.sum() * v[1].storage_offset() + v.storage_offset(),
}
BATCHES = {
    "rows": {},
    "columns": {"in_dims": 1},
    "the last dimension": {"in_dims": -1},
}


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("name", STRIDED)
def test_offsets_count_from_the_element(name, batch):
    def strided(lib):
        x = lib.arange(96.0).reshape(4, 4, 6).requires_grad_()
        copy = x * 1
        result = lib.func.vmap(STRIDED[name], **BATCHES[batch])(copy)
        (result * lib.arange(result.numel()).view_as(result)).sum().backward()
        return result, copy, x.grad

    agree(strided)


def test_offsets_of_elements_of_elements_and_of_other_tensors():
    def elements(lib):
        def function(v, w):
            return (v * 2).as_strided((2,), (1,), 1) + w.as_strided((2,), (1,), 3) * v.as_strided(
                (), (), 1
            )

        x = lib.arange(24.0).reshape(2, 3, 4)
        within = lib.func.vmap(lib.func.vmap(function, in_dims=(0, None)), in_dims=(0, None))
        # The second argument has the memory of the batch, and is none of its elements.
        return within(x, x), x[1:].as_strided((2,), (1,), 1), x[1].storage_offset()

    agree(elements)


@pytest.mark.parametrize("name", VIEWED)
def test_views_of_elements_are_a_view_of_the_batch(name):
    agree(VIEWED[name])
