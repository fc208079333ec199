"""Walks over the modules of a model, and numbers as tuples."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch

from flowvision.models import helpers
from oneflow import nn
from tests.flowvision import zoo as zoo  # makes timm importable


def _model(lib: ModuleType | Any) -> Any:
    inner = lib.Sequential(lib.Linear(2, 2), lib.ReLU())
    return lib.Sequential(inner, lib.Sequential(lib.Tanh()))


@pytest.mark.parametrize("depth_first", [False, True])
@pytest.mark.parametrize("include_root", [False, True])
def test_modules_come_in_timms_order(depth_first: bool, include_root: bool) -> None:
    from timm.models import named_modules

    options = {"name": "root", "depth_first": depth_first, "include_root": include_root}
    ours = [
        (name, type(each).__name__) for name, each in helpers.named_modules(_model(nn), **options)
    ]
    theirs = [
        (name, type(each).__name__) for name, each in named_modules(_model(torch.nn), **options)
    ]
    assert ours == theirs
    seen = []
    helpers.named_apply(lambda module, name: seen.append(name), _model(nn), **options)
    assert seen == [name for name, _ in theirs]


def test_numbers_as_tuples() -> None:
    assert helpers.to_1tuple(3) == (3,)
    assert helpers.to_2tuple((1, 2)) == (1, 2)
    assert helpers.to_3tuple(0.5) == (0.5, 0.5, 0.5)
    assert helpers.to_4tuple("ab") == ("ab",) * 4
    assert helpers.make_divisible(20) == 24
