"""`out=` that cannot hold a result says so."""

from __future__ import annotations

import pytest

import oneflow as flow


@pytest.mark.parametrize("shape", [(2,), (2, 3)])
def test_zeros_are_not_written_into_a_sparse_tensor(shape):
    out = flow.sparse_coo_tensor(flow.tensor([[0]]), flow.tensor([1.0]), (2,))
    with pytest.raises(NotImplementedError, match=r"(?i)sparse"):
        flow.zeros(shape, out=out)
    assert out.to_dense().tolist() == [1, 0]
