"""Tensors that are put together: what counts as several, and those without elements."""

from __future__ import annotations

import pytest
import torch

import oneflow as flow

STACKS = ("cat", "concat", "stack", "hstack", "vstack", "dstack", "column_stack", "row_stack")


@pytest.mark.parametrize("name", STACKS)
def test_one_tensor_is_no_sequence_of_its_rows(name):
    for framework in (torch, flow):
        with pytest.raises(TypeError, match="must be tuple of Tensors"):
            getattr(framework, name)(framework.ones(2, 2))


@pytest.mark.parametrize("dim", [0, 1, -1, -2, 5])
def test_tensors_without_elements_join_along_any_dimension(dim):
    joined = [f.cat([f.ones(0), f.ones(0)], dim) for f in (torch, flow)]
    assert joined[0].shape == joined[1].shape
