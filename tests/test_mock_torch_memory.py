"""Capsules, storages, tensors without values and old spellings, compared with PyTorch."""

from __future__ import annotations

import copy
import importlib
import io
import pickle
import warnings

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow import mock_torch


def capsules_go_round(library):
    dlpack = importlib.import_module(f"{library.__name__}.utils.dlpack")
    kinds = [library.float32, library.int64, library.uint8]
    return [dlpack.from_dlpack(dlpack.to_dlpack(library.arange(3).to(k))).tolist() for k in kinds]


def storages_are_copied(library):
    x = library.arange(3.0)
    both = copy.deepcopy([x.untyped_storage(), x[1:].untyped_storage()])
    other = x.untyped_storage().clone()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        typed = copy.deepcopy(library.ones(2, 2)[0].storage()).tolist()
        typed += [library.arange(4)[1:].storage()[i] for i in (0, -1)]
        try:
            typed.append(library.ones(2, device="meta").storage()[0])
        except NotImplementedError:
            typed.append("no contents")
    x.zero_()
    same = both[0].data_ptr() == both[1].data_ptr()
    return [each.tolist() for each in both], same, list(other), typed


def tensors_without_values_are_kept(library):
    layer = library.nn.Linear(2, 3, device="meta", dtype=library.float64)
    file = io.BytesIO()
    library.save({"layer": layer.state_dict(), "leaf": layer.weight}, file)
    file.seek(0)
    found = library.load(file)
    tensors = [*found["layer"].values(), found["leaf"], pickle.loads(pickle.dumps(layer.bias))]
    return [
        (x.device.type, tuple(x.shape), str(x.dtype), x.requires_grad, type(x).__name__)
        for x in tensors
    ]


def factors_stand_second(library):
    a, b, c = (library.tensor([1.0, 2.0]) + n for n in range(3))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        results = [getattr(library, n)(a, 2, b, c).tolist() for n in ("addcmul", "addcdiv")]
        results.append(library.addcmul(a, b, c, value=3).tolist())
    return results, {each.category for each in found}


def parametrizations_are_transferred(library):
    utils = library.nn.utils
    layer, other = library.nn.Linear(2, 3), library.nn.Linear(2, 3)
    utils.parametrizations.weight_norm(layer)
    utils.parametrizations.spectral_norm(layer, "bias")
    only = utils.parametrize.transfer_parametrizations_and_params(
        layer, library.nn.Linear(2, 3), "bias"
    )
    assert utils.parametrize.transfer_parametrizations_and_params(layer, other) is other
    plain = library.nn.ReLU()
    return (
        sorted(other.state_dict()) == sorted(layer.state_dict()),
        bool((other.weight == layer.weight).all()),
        utils.parametrize.is_parametrized(only, "weight"),
        other.parametrizations.weight.original1 is layer.parametrizations.weight.original1,
        utils.parametrize.transfer_parametrizations_and_params(library.nn.ReLU(), plain) is plain,
    )


def the_environment_is_described(library):
    collect = importlib.import_module(f"{library.__name__}.utils.collect_env")
    return "ython" in collect.get_pretty_env_info()


PROGRAMS = [
    capsules_go_round,
    storages_are_copied,
    tensors_without_values_are_kept,
    factors_stand_second,
    parametrizations_are_transferred,
    the_environment_is_described,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_give_what_they_give_on_pytorch(program):
    expected = program(torch)
    with mock_torch.enable():
        assert program(importlib.import_module("torch")) == expected


def test_capsules_of_other_libraries_are_taken_once():
    capsule = np.arange(3.0).__dlpack__()
    assert flow.from_dlpack(capsule).tolist() == [0.0, 1.0, 2.0]
    assert flow.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(2))).tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="capsule"):
        flow.from_dlpack(capsule)


def test_a_pickled_storage_has_its_contents():
    storage = flow.tensor([1.0, 2.0])[1:].untyped_storage()
    assert pickle.loads(pickle.dumps(storage)).tolist() == storage.tolist()


def test_extensions_in_other_languages_are_refused():
    with mock_torch.enable():
        extension = importlib.import_module("torch.utils.cpp_extension")
    for name in ("load", "load_inline", "CUDAExtension", "CppExtension", "BuildExtension"):
        with pytest.raises(NotImplementedError, match="custom_op"):
            getattr(extension, name)("name", ["file.cpp"])


@pytest.mark.parametrize(
    "shapes",
    [
        ((), (1,)),
        ((1,), ()),
        ((), ()),
        ((1,), (1,)),
        ((3,), ()),
        ((3,), (1,)),
        ((1, 1), ()),
        ((), (2,)),
        ((2, 1), (1,)),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["index_copy", "index_add"])
@pytest.mark.parametrize("index", [[0], 0])
def test_one_element_is_as_good_without_a_dimension(name, shapes, index):
    def written(library):
        target, source = (library.full(shape, n + 1.0) for n, shape in enumerate(shapes))
        try:
            return getattr(target, name)(0, library.tensor(index), source).tolist()
        except (RuntimeError, IndexError):
            return "refused"

    assert written(flow) == written(torch)
