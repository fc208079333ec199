"""Optimizers whose steps depend on whole rows or matrices."""

import numpy as np
import pytest
import torch

import oneflow as flow

TABLE = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)
# Row 5 is never looked up; row 0 in one step only.
LOOKUPS = [[0, 1, 1], [2, 1, 3], [4, 4, 2], [1, 3, 3]]


def train(lib, table, optimizer, **options):
    for rows in LOOKUPS:
        optimizer.zero_grad()
        found = lib.nn.functional.embedding(lib.tensor(rows), table, **options)
        (found**2).sum().backward()
        optimizer.step()


def test_sparse_adam_leaves_rows_without_gradient_alone():
    mine = flow.tensor(TABLE).requires_grad_()
    theirs = torch.tensor(TABLE).requires_grad_()
    optimizers = flow.optim.SparseAdam([mine], lr=0.1), torch.optim.SparseAdam([theirs], lr=0.1)
    train(flow, mine, optimizers[0])
    train(torch, theirs, optimizers[1], sparse=True)
    np.testing.assert_allclose(mine.numpy(), theirs.detach().numpy(), rtol=1e-5)
    for name in ("exp_avg", "exp_avg_sq"):
        states = (
            optimizer.state[t][name]
            for optimizer, t in zip(optimizers, (mine, theirs), strict=True)
        )
        np.testing.assert_allclose(*(state.numpy() for state in states), rtol=1e-5)
    np.testing.assert_array_equal(mine[5].numpy(), TABLE[5])


@pytest.mark.parametrize(
    "make",
    [
        lambda: flow.optim.Muon([flow.ones(3, requires_grad=True)]),
        lambda: flow.optim.Muon([flow.ones(3, 3, dtype=flow.complex64, requires_grad=True)]),
        lambda: flow.optim.SparseAdam([flow.ones(3, dtype=flow.complex64, requires_grad=True)]),
        lambda: flow.optim.Muon([flow.ones(2, 2, requires_grad=True)], ns_coefficients=(1, 2)),
        lambda: flow.optim.Muon([flow.ones(2, 2, requires_grad=True)], adjust_lr_fn="adamw"),
    ],
)
def test_refused_parameters_and_options(make):
    with pytest.raises(ValueError, match=r"parameter|`ns_coefficients`|`adjust_lr_fn`"):
        make()


def test_adafactor_refuses_complex_parameters():
    w = flow.ones(2, dtype=flow.complex64, requires_grad=True)
    w.abs().sum().backward()
    with pytest.raises(RuntimeError, match="complex"):
        flow.optim.Adafactor([w]).step()


@pytest.mark.parametrize("shape", [(), (1,), (2, 3, 4)])
def test_adafactor_of_other_shapes(shape):
    array = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    weights = []
    for lib in (flow, torch):
        w = lib.tensor(array).requires_grad_()
        optimizer = lib.optim.Adafactor([w], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (w**3).sum().backward()
            optimizer.step()
        weights.append(w.detach().numpy())
    np.testing.assert_allclose(*weights, rtol=1e-5, atol=1e-6)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["Muon", "Adafactor", "SparseAdam", "ASGD"])
@pytest.mark.parametrize("sbp", [flow.sbp.split(0), flow.sbp.split(1), flow.sbp.broadcast])
def test_steps_of_global_parameters_are_those_of_local_ones(name, sbp):
    placement = flow.placement("cpu", [0, 1, 2])
    local = flow.tensor(TABLE).requires_grad_()
    parted = flow.tensor(TABLE, placement=placement, sbp=sbp).requires_grad_()
    for w in (local, parted):
        optimizer = getattr(flow.optim, name)([w], lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            (w**4).sum().backward()
            optimizer.step()
    assert parted.sbp == (sbp,)
    np.testing.assert_allclose(parted.numpy(), local.numpy(), rtol=2e-2 if name == "Muon" else 1e-5)
