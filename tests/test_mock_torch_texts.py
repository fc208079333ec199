"""Texts that programs print and compare name PyTorch in its place, and OneFlow elsewhere."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch

import oneflow as flow
from oneflow import mock_torch
from oneflow.base.placement import parse_device
from tests.in_place import in_place_of

EXPRESSIONS = [
    't.device("cpu")',
    't.device(t.device("cpu"))',
    't.device(type="cpu")',
    't.device("meta")',
    't.device("mps")',
    't.device("cuda:1")',
    't.device("cuda", 0)',
    't.device("cuda")',
    't.device(type="cuda")',
    't.device(t.device("cuda"))',
    't.device("cuda").type',
    't.device("cuda") == t.device("cuda")',
    't.device("cuda") == t.device("cuda:0")',
    't.device("cuda:0") != t.device("cuda")',
    'len({t.device("cuda"), t.device("cuda"), t.device("cuda", 0)})',
    'isinstance(t.device("cuda"), t.device)',
    "isinstance(t.ones(2).device, t.device)",
    'isinstance("cpu", t.device)',
    'pickle.loads(pickle.dumps(t.device("cuda")))',
    'copy.deepcopy(t.device("cuda"))',
    "t.get_default_device()",
    "t.ones(2).device",
    't.ones(2, device="cpu:0").device',
    't.ones(2).to("cpu:0").device',
    't.ones(2, device=t.device("cpu")).device',
    't.ones(2, device="meta").device',
    "t.ones(2).new_ones(1).device",
    "t.nn.Linear(1, 1).weight.device",
    't.nn.Linear(1, 1, device="meta").weight.device',
    "t.Generator().device",
    "t.ones(2).untyped_storage().device",
    "t.ones(2).device.type",
    't.ones(2).device == t.device("cpu")',
    't.device("cpu") == t.device("meta")',
    't.device("cpu") == "cpu"',
    'len({t.device("cpu"), t.ones(2).device, t.get_default_device()})',
    '{t.ones(2).device: 3}[t.device("cpu")]',
    'pickle.loads(pickle.dumps(t.device("cpu")))',
    "t.ones(2).get_device()",
    "repr(t.ones(2).bool().max(0)).partition('(')[0]",
    "str(t.ones(2).sort()).partition('(')[0]",
    "t.bool",
    "t.float32",
    "t.ones(2, dtype=t.bfloat16).dtype",
    "t.zeros(1, dtype=t.complex128).dtype",
    "t.zeros(2, 3).shape",
    "t.zeros(2, 3).size() + (1,)",
    "t.zeros(()).shape",
    "t.strided",
    "t.ones(2).layout",
    "t.contiguous_format",
    "t.channels_last",
    "t.typename(t.ones(2))",
    "t.ones(2).type()",
    't.ones(2, device="meta").type()',
    "t.nn.Parameter(t.ones(2)).type()",
    *[
        f"t.zeros(2, dtype=t.{name}).type()"
        for name in [
            "bool",
            "uint8",
            "int8",
            "int16",
            "int32",
            "int64",
            "float16",
            "bfloat16",
            "float32",
            "float64",
        ]
    ],
    "t.zeros(2, dtype=t.complex64).type()",
    't.ones(2).type("torch.DoubleTensor").dtype',
    "t.ones(2).type(t.ones(1).double().type()).type()",
    *[
        f"t.ones({sizes}, dtype=t.{name}, device={device!r})"
        for sizes in ["()", "2", "0", "0, 3"]
        for name in ["float32", "float64", "bfloat16", "int64", "int32", "bool", "complex64"]
        for device in ["cpu", "meta"]
    ],
    "t.ones(2, requires_grad=True)",
    "t.nn.Parameter(t.ones(2))",
    "t.ones(2, 2).to_sparse()",
]


def _texts(t: Any, expression: str) -> list[Any]:
    result = eval(expression, {"t": t, "pickle": pickle, "copy": copy})
    index = result.index if isinstance(result, t.device) else None
    return [repr(result), str(result), index]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_in_place_of_pytorch(expression: str) -> None:
    with mock_torch.enable():
        import torch as mock

        found = _texts(mock, expression)
    assert found == _texts(torch, expression)


def test_a_device_without_a_number_is_the_current_one_where_it_is_used() -> None:
    cuda = in_place_of("torch").device("cuda")
    assert parse_device(cuda) is parse_device("cuda") is flow.device(cuda) is flow.device("cuda:0")
    with cuda:
        assert flow.get_default_device() is flow.device("cuda:0")
    assert in_place_of("torch").device("cpu") is flow.ones(2).device


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ('t.device("cpu")', "cpu:0"),
        ("t.ones(2).device", "cpu:0"),
        ("t.ones(2).device.index", "0"),
        ("repr(t.get_default_device())", "device(type='cpu', index=0)"),
        ("t.float32", "oneflow.float32"),
        ("t.zeros(2, 3).shape", "oneflow.Size([2, 3])"),
        ("t.ones(2).type()", "oneflow.FloatTensor"),
        ("repr(t.strided)", "oneflow.strided"),
    ],
)
def test_under_the_name_of_oneflow(expression: str, text: str) -> None:
    with mock_torch.enable():
        pass
    assert str(eval(expression, {"t": flow})) == text
