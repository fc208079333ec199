"""The classes of results with named parts, beside PyTorch's."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch

import oneflow as flow

_NAMES = [
    name
    for name in dir(flow.return_types)
    if hasattr(getattr(flow.return_types, name), "_fields") and hasattr(torch.return_types, name)
]


@pytest.mark.parametrize("name", _NAMES)
def test_a_sequence_holds_the_fields(name: str) -> None:
    kind, theirs = getattr(flow.return_types, name), getattr(torch.return_types, name)
    count = theirs.n_fields
    assert (kind.n_fields, kind.n_sequence_fields, kind.n_unnamed_fields) == (count, count, 0)
    fields = [flow.full((2,), float(number)) for number in range(count)]
    result = kind(fields)
    for made in (result, kind(tuple(fields)), kind(*fields), copy.copy(result)):
        assert type(made) is kind
        assert all(one is other for one, other in zip(made, fields, strict=True))
    loaded = pickle.loads(pickle.dumps(result))
    assert type(loaded) is kind
    np.testing.assert_array_equal(loaded[-1].numpy(), fields[-1].numpy())


def test_lists_within_themselves_are_refused() -> None:
    lists: list = [0]
    lists.append(lists)
    for library in (flow, torch):
        with pytest.raises(TypeError, match="self-referential lists are incompatible"):
            library.tensor(lists)
