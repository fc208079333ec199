"""Positions of sparse tensors that do not fit are refused, as PyTorch refuses them."""

from __future__ import annotations

import copy
import dataclasses
import io
import pickle

import pytest
import torch

import oneflow as flow
from tests.in_place import in_place_of

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


@pytest.mark.parametrize(
    "name", [*["coalesce", "is_coalesced", "indices", "values", "crow_indices", "row_indices"]]
)
def test_methods_of_parts_are_methods_of_all_tensors(name):
    def outcome(lib, form):
        x = lib.tensor([[0.0, 2.0]])
        try:
            result = getattr(lib.Tensor, name)(x if form is None else x.to_sparse(layout=form(lib)))
        except RuntimeError:
            return "refused"
        return result.to_dense().tolist() if hasattr(result, "to_dense") else result

    for form in (None, lambda lib: lib.sparse_coo, lambda lib: lib.sparse_csr):
        assert outcome(flow, form) == outcome(torch, form)


def test_arguments_of_sparse_tensors_are_checked():
    ours = in_place_of("torch")
    for lib in (ours, torch):
        index, values, starts = lib.tensor([[0, 3]]), lib.ones(2), lib.tensor([0, 1, 2])
        lib._validate_sparse_coo_tensor_args(index, values, (4,))
        lib._validate_sparse_csr_tensor_args(starts, index[0], values, (2, 4))
        lib._validate_sparse_csc_tensor_args(starts, index[0], values, (4, 2))
        with pytest.raises(RuntimeError):
            lib._validate_sparse_coo_tensor_args(index, values, (3,))
        with pytest.raises(RuntimeError):
            lib._validate_sparse_compressed_tensor_args(
                starts, index[0], values, (2, 3), lib.sparse_csr
            )


def test_checks_are_switched_for_a_block_a_function_or_the_rest():
    outside = ([[3]], [1.0], (2,))

    def outcomes(lib):
        checks, results = lib.sparse.check_sparse_tensor_invariants, []

        def note(**options):
            try:
                lib.sparse_coo_tensor(*outside, **options)
                results.append((checks.is_enabled(), "made"))
            except RuntimeError:
                results.append((checks.is_enabled(), "refused"))

        note()
        with checks():
            note()
            note(check_invariants=False)
            with checks(enable=False):
                note()
                note(check_invariants=True)
            checks(False)(note)()
            note()
        note()
        checks()(note)()
        checks.enable()
        note()
        checks.disable()
        note()
        return results

    assert outcomes(flow) == outcomes(torch)
    assert ("refused") in {kind for _, kind in outcomes(flow)}
