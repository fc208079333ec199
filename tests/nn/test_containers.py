"""Containers of modules and parameters, compared with PyTorch's step by step."""

from __future__ import annotations

import operator
from collections import OrderedDict

import pytest
import torch

import oneflow as flow
from tests.nn.twins import raised_by


def layers(lib, count=3):
    return [lib.nn.Linear(size + 1, size + 2) for size in range(count)]


def edit_sequential(lib):
    model = lib.nn.Sequential(*layers(lib))
    model.append(lib.nn.ReLU())
    model.insert(1, lib.nn.Tanh())
    model[0] = lib.nn.Identity()
    del model[2]
    model.extend([lib.nn.GELU()])
    popped = model.pop(-2)
    return [repr(popped), repr(model), repr(model[1:]), repr(model + model[:1]), repr(model[-1])]


def edit_named_sequential(lib):
    model = lib.nn.Sequential(OrderedDict(first=lib.nn.ReLU(), second=lib.nn.Tanh()))
    return [repr(model), repr(model.first), repr(model[1:]), list(dict(model.named_children()))]


def edit_list(lib):
    modules = lib.nn.ModuleList(layers(lib))
    modules.append(lib.nn.ReLU())
    modules.insert(0, lib.nn.Tanh())
    modules += [lib.nn.GELU()]
    modules[1] = lib.nn.Identity()
    del modules[2]
    popped = modules.pop(-1)
    names = [name for name, _ in modules.named_parameters()]
    return [
        repr(popped),
        names,
        len(modules),
        repr(modules[1:3]),
        repr(operator.add(modules, [lib.nn.ReLU()])),
    ]


def edit_dict(lib):
    modules = lib.nn.ModuleDict({"a": lib.nn.Linear(1, 2), "b": lib.nn.ReLU()})
    modules["c"] = lib.nn.Tanh()
    modules.update([("a", lib.nn.Identity())])
    popped = modules.pop("b")
    keys = list(modules), list(modules.keys()), "a" in modules, len(modules)
    shown = repr(modules)
    modules.clear()
    return [repr(popped), keys, shown, len(modules)]


def edit_parameter_list(lib):
    values = lib.nn.ParameterList([lib.ones(2), lib.zeros(2, 3)])
    values.append(lib.ones(1))
    values += [lib.ones(4)]
    values[0] = lib.zeros(5)
    shapes = [tuple(value.shape) for value in values]
    names = [name for name, _ in values.named_parameters()]
    return [
        shapes,
        names,
        len(values),
        [tuple(v.shape) for v in values[1:3]],
        tuple(values[-1].shape),
    ]


def edit_parameter_dict(lib):
    values = lib.nn.ParameterDict({"a": lib.ones(2), "b": lib.zeros(1)})
    values["c"] = lib.ones(3)
    values.update({"a": lib.ones(4)})
    merged = values | lib.nn.ParameterDict({"d": lib.ones(1)})
    last = values.popitem()[0]
    found = tuple(values.get("a").shape), values.get("z"), "b" in values
    names = [name for name, _ in values.named_parameters()]
    return [list(merged), last, found, names, list(values.keys()), list(reversed(values))]


@pytest.mark.parametrize(
    "edit",
    [
        edit_sequential,
        edit_named_sequential,
        edit_list,
        edit_dict,
        edit_parameter_list,
        edit_parameter_dict,
    ],
)
def test_containers_are_edited_as_in_pytorch(edit):
    assert edit(flow) == edit(torch)


def test_parameter_containers_print_their_entries():
    values = flow.nn.ParameterList([flow.ones(2), flow.zeros(3, 2)])
    assert repr(values) == (
        "ParameterList(\n"
        "    (0): Parameter containing: [oneflow.float32 of size 2]\n"
        "    (1): Parameter containing: [oneflow.float32 of size 3x2]\n"
        ")"
    )


@pytest.mark.parametrize(
    "misuse",
    [
        lambda nn: nn.Sequential(nn.ReLU())[1],
        lambda nn: nn.ModuleList([nn.ReLU()])[-2],
        lambda nn: nn.ModuleList(3),
        lambda nn: nn.ModuleList([3]),
        lambda nn: nn.ModuleDict({"a": 3}),
        lambda nn: nn.ModuleDict({})["a"],
        lambda nn: nn.ModuleDict(3),
        lambda nn: operator.add(nn.Sequential(nn.ReLU()), [nn.ReLU()]),
        lambda nn: nn.ParameterList([])[0],
        lambda nn: nn.ParameterDict({})["a"],
        lambda nn: nn.ParameterList([])(1),
        lambda nn: nn.ModuleList([])(1),
    ],
)
def test_misuse_raises_as_in_pytorch(misuse):
    with pytest.raises(raised_by(lambda: misuse(torch.nn))):
        misuse(flow.nn)


def test_keywords_of_pytorch():
    for lib in (flow, torch):
        nn = lib.nn
        relu = nn.ReLU()
        assert len(list(nn.Sequential(relu, relu).modules(remove_duplicate=False))) == 3
        assert nn.ModuleList([relu]).pop(key=0) is nn.Sequential(relu).pop(key=0) is relu
        assert nn.SyncBatchNorm(3, process_group=None).num_features == 3
        found = nn.utils.stateless.functional_call(
            nn.Linear(1, 1, bias=False),
            parameters_and_buffers={"weight": lib.ones(1, 1)},
            args=(lib.ones(1),),
        )
        assert found.item() == 1
    group = flow.distributed.new_group([0])
    assert flow.nn.SyncBatchNorm(3, process_group=group).process_group is group
