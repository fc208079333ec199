"""Every attribute that a tensor lists has a value, or `hasattr` says that it has none."""

from __future__ import annotations

import inspect

import pytest

import oneflow as flow

#: Attributes that PyTorch refuses by another error than that they do not exist, by kind of tensor.
REFUSED = {
    "real": {"imag"},
    "inference": {"imag", "_version"},
    "vector": {"imag", "mT", "mH"},
    "sparse": {"imag", "nbytes"},
    # No program asks for these by name.
    "sparse, inside": {"_value", "spec"},
}


def _inference():
    with flow.inference_mode():
        return flow.ones(2, 2)


KINDS = {
    "real": lambda: flow.ones(2, 2),
    "integers": lambda: flow.ones(2, 2, dtype=flow.int32),
    "leaf": lambda: flow.ones(2, 2, requires_grad=True),
    "result": lambda: flow.ones(2, 2, requires_grad=True) * 2,
    "parameter": lambda: flow.nn.Parameter(flow.ones(2, 2)),
    "meta": lambda: flow.ones(2, 2, device="meta"),
    "inference": _inference,
    "scalar": lambda: flow.tensor(1.0),
    "sparse": lambda: flow.eye(2).to_sparse(),
    "compressed": lambda: flow.eye(2).to_sparse_csr(),
}
_TABLE_OF = {"scalar": ("vector",), "inference": ("inference",)}
_SPARSE = ("sparse", "sparse, inside")


@pytest.mark.parametrize("kind", KINDS)
def test_asking_for_an_attribute_raises_what_pytorch_raises(kind):
    x = KINDS[kind]()
    tables = _SPARSE if kind in ("sparse", "compressed") else _TABLE_OF.get(kind, ("real",))
    refused = set().union(*(REFUSED[table] for table in tables))
    raised = set()
    for name in dir(x):
        try:
            hasattr(x, name)
        except Exception:
            raised.add(name)
    assert raised <= refused


def test_members_of_a_complex_tensor_are_listed():
    x = flow.ones(2, 2, dtype=flow.complex64)
    members = dict(inspect.getmembers(x))
    assert members["ndim"] == 2
    assert "sbp" not in members
    with pytest.raises(RuntimeError, match="local tensors have no `sbp`; make a global one"):
        _ = x.sbp


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.to_sparse(),
        lambda x: x.to_sparse_csr(),
        lambda x: flow.nested.nested_tensor([x, x]),
    ],
    ids=["coo", "csr", "nested"],
)
def test_composed_tensors_have_the_attributes_of_their_values(make):
    x = make(flow.eye(2)).requires_grad_()
    assert (x.is_global, x.is_local, x.is_eager, x._version, x.output_nr) == (
        *(False, True, True, 0, 0),
    )
    assert not hasattr(x, "placement")
    data = x.data
    assert not data.requires_grad
    assert type(data) is type(x)
    data.values().mul_(3)
    assert x.values().max() == 3
    x.data = make(flow.eye(2) * 5)
    assert x.requires_grad
    assert x.values().max() == 5
    with pytest.raises(NotImplementedError, match="can only be another one"):
        x.data = flow.eye(2)
