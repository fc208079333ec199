"""Dtypes of losses whose target, or input, is one number that broadcasts."""

import itertools
from typing import Any

import pytest
import torch

import oneflow as flow

LOSSES = ("l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss")
DTYPES = ("float16", "bfloat16", "float32", "float64")


def _loss(library: Any, name: str, dtypes: tuple[str, str], shapes: tuple) -> tuple[str, float]:
    input, target = (
        library.full(shape, value, dtype=getattr(library, dtype))
        for shape, value, dtype in zip(shapes, (2.5, 1.0), dtypes, strict=True)
    )
    loss = getattr(library.nn.functional, name)(input, target)
    return str(loss.dtype).rpartition(".")[2], float(loss)


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("name", LOSSES)
def test_one_number_counts_when_types_are_promoted(name: str):
    for dtypes in itertools.permutations(DTYPES, 2):
        for shapes in (((3,), ()), ((), (3,)), ((3, 1), (2,)), ((1,), ())):
            ours = _loss(flow, name, dtypes, shapes)
            theirs = _loss(torch, name, dtypes, shapes)
            if name == "huber_loss":  # PyTorch's has the dtype of its input
                theirs = (
                    str(torch.promote_types(*[getattr(torch, dtype) for dtype in dtypes]))[
                        len("torch.") :
                    ],
                    theirs[1],
                )
            assert ours == theirs, (dtypes, shapes)
