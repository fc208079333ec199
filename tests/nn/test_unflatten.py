"""`nn.Unflatten` takes sequences of whole numbers, as PyTorch's."""

from __future__ import annotations

import pytest
import torch

import oneflow as flow


@pytest.mark.parametrize("sizes", [(2, 5, 5.0), (["C", 2],), [("C", 2)], 5, "25"], ids=str)
def test_sizes_are_whole_numbers(sizes):
    for framework in (torch, flow):
        with pytest.raises(TypeError, match="unflattened_size"):
            framework.nn.Unflatten(1, sizes)


@pytest.mark.parametrize("sizes", [(2, 3), [2, 3], torch.Size([2, 3])], ids=str)
def test_sequences_of_numbers_are_taken(sizes):
    shapes = [tuple(f.nn.Unflatten(1, sizes)(f.ones(4, 6)).shape) for f in (torch, flow)]
    assert shapes[0] == shapes[1]
