"""Tensors that share memory share it again when their file is loaded, as in PyTorch's files."""

import io
import json

import numpy as np
import pytest
import safetensors.numpy
import torch

import oneflow as flow
from oneflow import nn
from tests.checkpoint.both_libraries import saved
from tests.checkpoint.test_hostile_files import LABEL, PLAIN, limited_memory, safetensors_of


def round_trip(library, obj, **options):
    return library.load(saved(library, obj), **options)


def matrix(library):
    return library.arange(12.0).reshape(3, 4)


def complex_numbers(library):
    return library.complex(library.arange(4.0), library.ones(4))


# Tensors that share memory, made by a library.
OBJECTS = {
    "a part": lambda lib: [x := lib.arange(4.0), x[:2]],
    "a part comes first": lambda lib: [(x := lib.arange(4.0))[1:3], x],
    "a row and the whole": lambda lib: [x := matrix(lib), x[1]],
    "transposed": lambda lib: [x := matrix(lib), x.t()],
    "a column": lambda lib: [x := matrix(lib), x[:, 1], x[:, 1:3]],
    "parts without the whole": lambda lib: [(x := lib.arange(9.0))[2:6], x[4:8]],
    "parts of rows": lambda lib: [(x := matrix(lib))[1, :3], x[:2], x[2:]],
    "every other element": lambda lib: [x := lib.arange(6.0), x[::2], x[1::2]],
    "expanded": lambda lib: [(x := lib.arange(3.0)).expand(2, 3), x],
    "windows": lambda lib: [x := lib.arange(5.0), x.unfold(0, 3, 1)],
    "another shape": lambda lib: [x := matrix(lib), x.view(-1), x.view(2, 1, 6)],
    "turned": lambda lib: [x := lib.arange(24.0).view(2, 3, 4), x[1:].permute(2, 0, 1)],
    "a dimension of one": lambda lib: [(x := matrix(lib))[1:2, :2], x[1, 1:3]],
    "detached": lambda lib: [x := matrix(lib), x[1].detach(), x.detach()],
    "a parameter and its data": lambda lib: [p := lib.nn.Parameter(matrix(lib)), p.data[1]],
    "parameters": lambda lib: [x := matrix(lib), lib.nn.Parameter(x[1]), lib.nn.Parameter(x.t())],
    "a leaf and its part": lambda lib: [x := lib.ones(3).requires_grad_(), x.detach()[:2]],
    "conjugates": lambda lib: [z := complex_numbers(lib), z.conj(), z[1:].conj()],
    "conjugates alone": lambda lib: [complex_numbers(lib).conj()[1:]],
    "one twice": lambda lib: [x := matrix(lib), r := x[1], r, x[1]],
    "two memories": lambda lib: [*(a := lib.arange(4.0), a[1:]), *(b := lib.ones(3), b[:1])],
    "whole numbers": lambda lib: [x := lib.arange(6), x[1:4]],
    "truth": lambda lib: [x := lib.arange(6) > 2, x[1:4]],
    "single numbers": lambda lib: [x := lib.arange(3.0), x[1]],
    "nothing": lambda lib: [x := lib.arange(3.0), x[1:1], x[:2]],
    "overlapping heads": lambda lib: [x := lib.arange(6.0), *[x[i : i + 2] for i in range(5)]],
}


def written(tensors):
    """All numbers after the first and the last element of each tensor were written to in turn."""
    tables = [[tensor.tolist() for tensor in tensors]]
    for number, tensor in enumerate(tensors):
        if not tensor.numel() or 0 in tensor.stride():
            continue
        for index in (0, -1):
            tensor.detach()[(index,) * tensor.ndim] = 20 + number
            tables.append([member.tolist() for member in tensors])
    return tables


@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS)
def test_writes_are_seen_as_in_pytorch(make):
    own = round_trip(flow, make(flow))
    reference = round_trip(torch, make(torch), weights_only=True)
    assert [tensor.requires_grad for tensor in own] == [
        tensor.requires_grad for tensor in reference
    ]
    assert [tuple(tensor.shape) for tensor in own] == [tuple(tensor.shape) for tensor in reference]
    assert written(own) == written(reference)


@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS)
def test_loaded_files_are_saved_alike(make, tmp_path):
    flow.save(make(flow), tmp_path / "first")
    flow.save(flow.load(tmp_path / "first"), tmp_path / "second")
    assert (tmp_path / "second").read_bytes() == (tmp_path / "first").read_bytes()


def test_what_shares_no_element_has_names_of_its_own(tmp_path):
    layers = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    nn.utils.vector_to_parameters(flow.arange(8.0), layers.parameters())
    x = matrix(flow)
    left, right = x[:, :2], x[:, 2:]
    flow.save({"layers": layers.state_dict(), "left": left, "right": right}, tmp_path / "file")
    arrays = safetensors.numpy.load_file(tmp_path / "file")
    assert sorted(arrays) == ["layers.0.weight", "layers.1.weight", "left", "right"]
    np.testing.assert_array_equal(arrays["layers.1.weight"], [[4, 5], [6, 7]])
    np.testing.assert_array_equal(arrays["right"], [[2, 3], [6, 7], [10, 11]])


def test_shared_elements_are_stored_once(tmp_path):
    x = flow.arange(1000.0)
    parts = {"head": x[100:600], "tail": x[400:700]}
    flow.save({"whole": matrix(flow), **parts}, tmp_path / "file")
    arrays = safetensors.numpy.load_file(tmp_path / "file")
    assert {name: array.shape for name, array in arrays.items()} == {
        "whole": (3, 4),
        "head#memory": (600,),
    }
    np.testing.assert_array_equal(arrays["head#memory"], np.arange(100, 700))


def test_other_types_of_the_same_memory_are_stored_on_their_own():
    z = complex_numbers(flow)
    loaded = round_trip(flow, [z, flow.view_as_real(z), z.real])
    assert [tensor.tolist() for tensor in loaded] == [
        tensor.tolist() for tensor in (z, flow.view_as_real(z), z.real)
    ]


def test_tensors_expanded_beyond_what_is_read_are_stored_in_full(tmp_path):
    x = flow.ones(1, dtype=flow.int8)
    flow.save([x, x.expand(2**28 + 1)], tmp_path / "file")
    assert (tmp_path / "file").stat().st_size > 2**28
    assert flow.load(tmp_path / "file")[1].shape == (2**28 + 1,)


def test_tied_weights_of_two_layouts_stay_tied(tmp_path):
    weight = nn.Embedding(5, 3).weight.data
    flow.save({"embedding": weight, "head": weight.t()}, tmp_path / "file")
    loaded = flow.load(tmp_path / "file")
    loaded["embedding"][1] = 7
    assert loaded["head"][:, 1].tolist() == [7, 7, 7]


PAIR = flow.placement("cpu", [0, 1])


@pytest.mark.parametrize("sbp", [flow.sbp.split(0), flow.sbp.broadcast])
def test_parts_of_local_tensors_that_become_global(tmp_path, sbp):
    x = matrix(flow)
    flow.save({"x": x, "part": x[:2, 1:3], "turned": x.t()}, tmp_path / "file")
    loaded = flow.load(tmp_path / "file", map_location=(PAIR, sbp))
    assert loaded["part"].tolist() == [[1, 2], [5, 6]]
    assert loaded["turned"].tolist() == x.t().tolist()
    read_by_one = flow.load(tmp_path / "file", global_src_rank=0)
    assert read_by_one["part"].tolist() == [[1, 2], [5, 6]]


def test_local_tensors_in_a_folder(tmp_path):
    x = matrix(flow)
    whole = flow.ones(4).to_global(PAIR, flow.sbp.split(0))
    flow.save({"global": whole, "x": x, "row": x[1]}, tmp_path / "folder")
    loaded = flow.load(tmp_path / "folder")
    loaded["row"][0] = 9
    assert loaded["x"][1].tolist() == [9, 5, 6, 7]
    assert loaded["global"].tolist() == whole.tolist()


# --- files made to do harm


def part_with(shape, strides, offset, is_conjugate=False):
    """A description of a part of `PLAIN`."""
    layout = [shape, strides, offset, is_conjugate]
    return json.dumps({"part": "a", "layout": layout, "device": "cpu"})


# Layouts of parts of four numbers, and what the error says.
PARTS = [
    ([2], [1], 3, "beyond a tensor of 4"),
    ([2, 2], [2, 2], 0, "beyond a tensor of 4"),
    ([], [], 4, "beyond a tensor of 4"),
    ([0], [1], 0, "beyond a tensor of 4"),
    ([2**20], [2**40], 0, "beyond a tensor of 4"),
    ([2**40], [0], 0, "more than .* bytes of memory"),
    ([2**40, 2**40], [0, 0], 0, "more than .* bytes of memory"),
    ([2], [-1], 1, "no sizes, strides"),
    ([2], [1], -1, "no sizes, strides"),
    ([-2], [1], 0, "no sizes, strides"),
    ([1], [2**70], 0, "no sizes, strides"),
    ([2**70], [0], 0, "no sizes, strides"),
    ([2.0], [1], 0, "no sizes, strides"),
    ([True], [1], 0, "no sizes, strides"),
    ([2], [1], "0", "no sizes, strides"),
    ([[2]], [1], 0, "no sizes, strides"),
    ([2], [1, 1], 0, "no part of a tensor"),
    ([1] * 65, [1] * 65, 0, "no part of a tensor"),
    ([2], [1], 0, 1, "no part of a tensor"),
    ([2], [1], 0, True, "no conjugates"),
    (2, 1, 0, "description is damaged"),
    (None, [1], 0, "description is damaged"),
]


@pytest.mark.parametrize("description", PARTS)
def test_parts_that_are_none(tmp_path, description):
    *layout, match = description
    content = safetensors_of(PLAIN, 32, {LABEL: part_with(*layout)})
    path = tmp_path / "file.safetensors"
    path.write_bytes(content)
    with pytest.raises(RuntimeError, match=match) as caught:
        flow.load(path)
    assert "file.safetensors" in str(caught.value)
    with pytest.raises(RuntimeError, match=match):
        flow.load(io.BytesIO(content))


def test_many_parts_of_a_file_take_no_more_memory_than_its_size_allows(tmp_path):
    part = {"part": "a", "device": "cpu"}
    parts = [{**part, "layout": [[1, 2**20], [n, 1], 0, False]} for n in range(100)]
    content = {"a": {"dtype": "F64", "shape": [2**20], "data_offsets": [0, 2**23]}}
    path = tmp_path / "file"
    path.write_bytes(safetensors_of(content, 2**23, {LABEL: json.dumps(parts)}))
    with limited_memory(2**30), pytest.raises(RuntimeError, match=r"more than .* bytes of memory"):
        flow.load(path)
    path.write_bytes(safetensors_of(content, 2**23, {LABEL: json.dumps(parts[:20])}))
    assert len(flow.load(path)) == 20
