"""Positions of sparse tensors that do not fit are refused, as PyTorch refuses them."""

from __future__ import annotations

import copy
import dataclasses
import io
import pickle

import pytest
import torch

import oneflow as flow

#: Where rows begin and columns, of three values in a matrix of two rows and columns.
COMPRESSED = [
    ([0, 1, 3], [0, 0, 1]),
    ([1, 1, 3], [0, 0, 1]),
    ([0, 1, 2], [0, 0, 1]),
    ([0, 4, 3], [0, 1, 1]),
    ([0, 1, 3], [0, 0, 0]),
    ([0, 1, 3], [0, 1, 0]),
    ([0, 1, 3], [0, 0, 5]),
    ([0, 1, 3], [0, 0, -1]),
    ([0, 1, 3, 3], [0, 0, 1]),
    ([0, 3, 3], [0, 1, 2]),
]
#: Coordinates of two values, the shape, and whether they count as coalesced.
COORDINATES = [
    ([[0, 1], [1, 0]], (2, 2), None),
    ([[0, 3], [0, 0]], (2, 2), None),
    ([[0, -1], [0, 0]], (2, 2), None),
    ([[0, 1]], (2, 2), None),
    ([[0, 0]], (2,), True),
    ([[1, 0]], (2,), True),
    ([[0, 0], [1, 1]], (2, 2), True),
    ([[0, 0], [0, 1]], (2, 2), True),
    ([[0, 1], [1, 0], [0, 1]], (2, 2), None),
    ([0, 1], (2,), None),
    ([[0, 1, 1]], (2,), None),
    ([[0, -1]], None, None),
    ([[0, 3]], None, None),
]


def refusal(function, *arguments, **options):
    try:
        function(*arguments, **options)
    except RuntimeError as error:
        return str(error) or "refused"
    return None


@pytest.mark.filterwarnings("ignore:Sparse CS")
@pytest.mark.parametrize("layout", ["csr", "csc"])
@pytest.mark.parametrize(("starts", "others"), COMPRESSED, ids=str)
def test_compressed_positions(starts, others, layout):
    outcomes = []
    for library in (torch, flow):
        make = getattr(library, f"sparse_{layout}_tensor")
        index = library.tensor(starts), library.tensor(others)
        found = refusal(make, *index, library.ones(3), (2, 2), check_invariants=True)
        outcomes.append(found is None)
    assert outcomes[1] == outcomes[0]


@pytest.mark.parametrize(("index", "size", "coalesced"), COORDINATES, ids=str)
def test_coordinates(index, size, coalesced):
    outcomes = []
    for library in (torch, flow):
        for checks in (True, False):
            options = {"is_coalesced": coalesced, "check_invariants": checks}
            arguments = library.tensor(index), library.ones(2), *([size] if size else [])
            found = refusal(library.sparse_coo_tensor, *arguments, **options)
            outcomes.append(found is None)
    assert outcomes[2:] == outcomes[:2]


@pytest.mark.parametrize("layout", ["csr", "csc"])
@pytest.mark.parametrize("size", [(2,), (2, 2, 2)])
def test_sizes_of_other_ranks_are_refused(layout, size):
    make = getattr(flow, f"sparse_{layout}_tensor")
    with pytest.raises(RuntimeError, match="must have 2 sparse dimensions"):
        make([0, 1, 2], [1, 0], [1.0, 2.0], size)


def test_a_number_is_one_value():
    x = flow.sparse_coo_tensor([[1]], flow.tensor(3.0), (2,))
    assert x.to_dense().tolist() == [0, 3]


WRONG = [
    lambda: flow.sparse_coo_tensor([[0, 7]], [1.0, 2.0], (2,)),
    lambda: flow.sparse_coo_tensor([[1, 0]], [1.0, 2.0], (2,), is_coalesced=True),
    lambda: flow.sparse_csr_tensor([0, 1, 3], [0, 0, 5], flow.ones(3), (2, 2)),
    lambda: flow.sparse_csc_tensor([0, 4, 3], [0, 0, 1], flow.ones(3), (2, 2)),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
@pytest.mark.parametrize("kind", ["pickle", "file"])
def test_files_with_positions_that_do_not_fit_are_refused(kind, number):
    x = WRONG[number]()
    file = io.BytesIO()
    if kind == "file":
        flow.save({"x": x}, file)
    else:
        pickle.dump(x, file)
    file.seek(0)
    with pytest.raises(RuntimeError, match=r"must"):
        (flow.load if kind == "file" else pickle.load)(file)


def test_files_with_too_many_coordinates_are_refused():
    x = flow.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2,))
    x._parts = dataclasses.replace(x._parts, index=(flow.zeros(2, 2).long(),))
    with pytest.raises(RuntimeError, match="must have 2 sparse dimensions"):
        pickle.loads(pickle.dumps(x))


def test_columns_in_any_order_are_copied():
    x = flow.sparse_csr_tensor([0, 2], [1, 0], [1.0, 2.0], (1, 2))
    assert copy.deepcopy(x).to_dense().tolist() == [[2, 1]]
