"""Views share memory: the traps of writing through them, with and without gradients."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.autograd.both import agree
from tests.oracle import eager_mode


@pytest.fixture(autouse=True)
def _cold():
    with eager_mode("cold"):
        yield


# Every way to make a view of a tensor of shape (2, 3).
VIEWS: dict[str, Callable[[Any], Any]] = {
    "view": lambda x: x.view(-1),
    "view_as": lambda x: x.view_as(x),
    "reshape": lambda x: x.reshape(3, 2),
    "permute": lambda x: x.permute(1, 0),
    "transpose": lambda x: x.transpose(0, 1),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "movedim": lambda x: x.movedim(0, 1),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "H": lambda x: x.H,
    "t": lambda x: x.t(),
    "adjoint": lambda x: x.adjoint(),
    "squeeze": lambda x: x.unsqueeze(0).squeeze(0),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "expand": lambda x: x.expand(2, 3),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "select": lambda x: x.select(0, 1),
    "number": lambda x: x[1],
    "slice": lambda x: x[:, ::2],
    "none": lambda x: x[None],
    "ellipsis": lambda x: x[..., 1],
    "everything": lambda x: x[:],
    "chunk": lambda x: x.chunk(2)[1],
    "split": lambda x: x.split([1, 2], 1)[1],
    "tensor_split": lambda x: x.tensor_split(3, 1)[2],
    "hsplit": lambda x: x.hsplit(3)[1],
    "unbind": lambda x: x.unbind(1)[0],
    "iteration": lambda x: next(iter(x)),
    "unfold": lambda x: x.unfold(1, 1, 2),
    "diagonal": lambda x: x.diagonal(1),
    "ravel": lambda x: x.ravel(),
    "flatten": lambda x: x.flatten(),
    "unflatten": lambda x: x.view(6).unflatten(0, (3, 2)),
    "detach": lambda x: x.detach(),
    "data": lambda x: x.data,
    "as_strided": lambda x: x.as_strided((2, 2), (1, 3), 1),
    "view of another dtype": lambda x: x.view(x.dtype),
    "view of a view": lambda x: x.T[1:].reshape(2, 2, 1)[0, :, 0],
    "contiguous": lambda x: x.contiguous(),
    "reshape that copies": lambda x: x.T.reshape(-1),
    "contiguous that copies": lambda x: x.T.contiguous(),
    "index": lambda x: x[x.new_tensor([0]).long() if isinstance(x, torch.Tensor) else [0]],
    "clone": lambda x: x.clone(),
    "flip": lambda x: x.flip(0),
    "to of the same dtype": lambda x: x.to(x.dtype),
    "float": lambda x: x.float(),
}
BASE = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_writing_to_a_view_writes_to_its_base(name: str) -> None:
    results = []
    for lib in (flow, torch):
        x = lib.tensor(BASE)
        view = VIEWS[name](x)
        view.mul_(10)
        after_view = x.tolist()
        x.add_(1)
        results.append((after_view, x.tolist(), view.tolist()))
    assert results[0] == results[1]


# PyTorch forbids writing to one of several views made together; views of bytes have no gradient.
FORBIDDEN = {"chunk", "split", "unbind", "tensor_split", "hsplit", "iteration"}
WITHOUT_GRADIENT = {"detach", "data", "view of another dtype"}


@pytest.mark.parametrize("name", sorted(set(VIEWS) - FORBIDDEN - WITHOUT_GRADIENT))
def test_gradients_follow_writes(name: str) -> None:
    results = []
    for lib in (flow, torch):
        w = lib.tensor(BASE, requires_grad=True)
        x = w * w
        view = VIEWS[name](x)
        view.mul_(3)
        view.add_(w.sum())
        x.mul_(2)
        (x * x).sum().backward()
        results.append((w.grad.tolist(), view.requires_grad, view.tolist()))
    assert results[0] == results[1]


def test_gradients_follow_writes_to_views_made_together() -> None:
    w = flow.tensor(BASE, requires_grad=True)
    x = w * 2
    first, second = x.split(1)
    first.mul_(3)
    second.zero_()
    x.sum().backward()
    assert w.grad.tolist() == [[6, 6, 6], [0, 0, 0]]


def test_two_steps_of_indexing_change_the_tensor() -> None:
    x = flow.zeros(2, 3)
    x[0][1] = 8
    assert x.tolist() == [[0, 8, 0], [0, 0, 0]]


def test_adding_a_tensor_to_itself() -> None:
    x = flow.tensor([1.0, 2.0])
    y = x
    x += x
    assert y is x
    assert x.tolist() == [2, 4]
    x.view(-1).add_(x)
    assert x.tolist() == [4, 8]


@pytest.mark.filterwarnings("ignore:Use of masked_fill_ on expanded tensors:UserWarning")
def test_filling_an_expanded_tensor_is_seen_at_all_places() -> None:
    for lib in (torch, flow):
        x = lib.ones(2, 1, requires_grad=True)
        y = x * 2
        mask = lib.tensor([[True, False, False], [False, False, False]])
        y.expand(2, 3).masked_fill_(mask, 9.0)
        assert y.tolist() == [[9.0], [2.0]]
    y.sum().backward()
    assert x.grad.tolist() == [[0.0], [2.0]]


def test_a_tensor_copied_to_itself_stays_as_it_is() -> None:
    for lib in (flow, torch):
        x = lib.ones(2, requires_grad=True)
        repeated = (x * 2).sum().expand(3)
        assert repeated.copy_(repeated).tolist() == [4, 4, 4]
        y = x * 2
        assert y.copy_(y) is y
        y.sum().backward()
        assert x.grad.tolist() == [2, 2]


def test_writing_to_an_expanded_tensor_raises() -> None:
    for lib in (flow, torch):
        x = lib.zeros(1, 3)
        with pytest.raises(RuntimeError, match="single memory location"):
            x.expand(2, 3).add_(1)
        x.expand(1, 3).add_(1)
        assert x.tolist() == [[1, 1, 1]]


def test_leaves_and_their_views_refuse_writes() -> None:
    for lib in (flow, torch):
        x = lib.ones(2, 2, requires_grad=True)
        for write in (
            lambda x: x.add_(1),
            lambda x: x[0].add_(1),
            lambda x: x.__setitem__(0, 1.0),
            lambda x: x.view(-1).zero_(),
        ):
            with pytest.raises(RuntimeError, match="leaf"):
                write(x)
        with lib.no_grad():
            x[0].mul_(3)
            x[1] = 5
        assert x.tolist() == [[3, 3], [5, 5]]
        assert x.requires_grad
        assert x.is_leaf


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.add_(1),
        lambda x: x[0].add_(1),
        lambda x: x.detach().add_(1),
        lambda x: x.__setitem__(0, 1.0),
        lambda x: x.view(-1).zero_(),
    ],
)
def test_a_changed_saved_tensor_raises_on_backward(change: Callable) -> None:
    for lib in (flow, torch):
        w = lib.ones(2, requires_grad=True)
        x = w * 1.5
        y = (x * x).sum()
        change(x)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()


def test_a_changed_output_raises_only_if_it_was_saved() -> None:
    for lib in (flow, torch):
        w = lib.ones(2, requires_grad=True)
        x = w.exp()
        x.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            x.sum().backward()
        x = w + 1
        x.mul_(2)
        x.sum().backward()
        assert w.grad.tolist() == [2, 2]


def test_data_writes_are_not_noticed() -> None:
    for lib in (flow, torch):
        w = lib.ones(2, requires_grad=True)
        y = (w * w).sum()
        w.data.mul_(3)
        y.backward()
        assert w.tolist() == [3, 3]


def test_data_can_be_exchanged() -> None:
    for lib in (flow, torch):
        w = lib.ones(2, requires_grad=True)
        new = lib.tensor([5.0, 6.0])
        w.data = new
        new.add_(1)
        assert w.tolist() == [6, 7]
        assert w.requires_grad
        (w * w).sum().backward()
        assert w.grad.tolist() == [12, 14]


def test_exchanged_data_of_a_result_keeps_its_history() -> None:
    for lib in (flow, torch):
        w = lib.ones(2, requires_grad=True)
        y = w * 3
        y.data = lib.tensor([5.0, 6.0])
        assert y.requires_grad
        (y * y).sum().backward()
        assert w.grad.tolist() == [30, 36]


def test_tied_weights_share_gradient_and_update() -> None:
    for lib in (flow, torch):
        first, second = lib.nn.Linear(2, 2, bias=False), lib.nn.Linear(2, 2, bias=False)
        second.weight = first.weight
        second(first(lib.ones(1, 2))).sum().backward()
        assert second.weight.grad is first.weight.grad
        with lib.no_grad():
            first.weight.zero_()
        assert second.weight.tolist() == [[0, 0], [0, 0]]


def test_a_detached_part_can_be_a_leaf() -> None:
    for lib in (flow, torch):
        x = lib.zeros(2, 2)
        part = x[0].detach().requires_grad_()
        x.add_(2)
        assert part.tolist() == [2, 2]
        assert part.requires_grad
        (part * part).sum().backward()
        assert part.grad.tolist() == [4, 4]
        with lib.no_grad():
            part.mul_(2)
        assert x.tolist() == [[4, 4], [2, 2]]


def test_a_parameter_shares_the_memory_of_its_data() -> None:
    for lib in (flow, torch):
        x = lib.zeros(2, 2)
        parameter = lib.nn.Parameter(x[1])
        x.add_(1)
        with lib.no_grad():
            parameter.mul_(5)
        assert x.tolist() == [[1, 1], [5, 5]]
        assert parameter.is_leaf
        assert parameter.requires_grad


def test_views_keep_their_base_alive() -> None:
    for lib in (flow, torch):
        row = lib.arange(6).reshape(2, 3)[1]
        row[0] = 9
        assert row.tolist() == [9, 4, 5]


def test_shape_changes_in_place() -> None:
    for lib in (flow, torch):
        x = lib.arange(6.0).reshape(2, 3)
        row = x[0]
        assert x.unsqueeze_(0) is x
        x.transpose_(1, 2)
        x[0, 2, 0] = 7
        assert row.tolist() == [0, 1, 7]
        assert tuple(x.squeeze_().shape) == (3, 2)
        assert x.t_().tolist() == [[0, 1, 7], [3, 4, 5]]


def test_shape_changes_in_place_without_gradients() -> None:
    for lib in (flow, torch):
        w = lib.ones(2, 3, requires_grad=True)
        with lib.no_grad():
            assert w.t_() is w
        assert w.requires_grad
        assert w.is_leaf
        (w * 2).sum().backward()
        assert w.grad.tolist() == [[2, 2]] * 3
        y = w * 3
        with lib.no_grad():
            y.unsqueeze_(0)
        assert y.requires_grad
        y.mul_(2)
        assert y.tolist() == [[[6, 6]] * 3]


def test_a_view_made_without_gradients_refuses_writes_with_them() -> None:
    x = flow.ones(2, requires_grad=True) * 2
    with flow.no_grad():
        view = x[0]
        view.mul_(2)
    with pytest.raises(RuntimeError, match="no_grad"):
        view.mul_(2)


def test_complex_parts_are_views() -> None:
    for lib in (flow, torch):
        x = lib.tensor([1 + 2j, 3 - 1j])
        x.real.mul_(2)
        x.imag[0] = 9
        lib.view_as_real(x)[1, 1] = 5
        assert x.tolist() == [2 + 9j, 6 + 5j]
        x.imag, x.real = lib.tensor([7, 8]), 3.0
        assert x.tolist() == [3 + 7j, 3 + 8j]
        y = lib.ones(2)
        y.real = lib.zeros(2)
        assert y.tolist() == [0, 0]
        with pytest.raises(RuntimeError, match="non-complex"):
            y.imag = lib.zeros(2)


def test_bytes_of_another_type_are_views() -> None:
    for lib in (flow, torch):
        x = lib.zeros(2)
        x.view(lib.int32)[0] = 0x3F800000
        x.view(lib.uint8).reshape(2, 4)[1, 3] = 0x40
        assert x.tolist() == [1.0, 2.0]


def test_same_results_hot_and_cold() -> None:
    def run() -> list:
        w = flow.tensor(BASE, requires_grad=True)
        x = w * 2
        x[0].mul_(3)
        x.T[1] = w[:, 0]
        part = x.view(-1)[1:4]
        part.add_(1)
        x.sum().backward()
        return [x.tolist(), part.tolist(), w.grad.tolist()]

    cold = run()
    with eager_mode("compiled"):
        assert run() == cold


# --- copying and pickling


def test_deep_copies_are_independent_leaves() -> None:
    for lib in (flow, torch):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        (x * x).sum().backward()
        pair = copy.deepcopy([x, x])
        assert pair[0] is pair[1]
        assert pair[0].requires_grad
        assert pair[0].is_leaf
        assert pair[0].grad.tolist() == [2, 4]
        with lib.no_grad():
            pair[0].add_(1)
        assert x.tolist() == [1, 2]
    # PyTorch refuses a tensor that was computed; OneFlow copies its values.
    computed = copy.deepcopy(flow.ones(2, requires_grad=True) * 2)
    assert computed.is_leaf
    assert computed.tolist() == [2, 2]
    parameter = flow.nn.Parameter(flow.ones(2))
    assert type(copy.deepcopy(parameter)) is flow.nn.Parameter


def test_shallow_copies_share_memory() -> None:
    for lib in (flow, torch):
        x = lib.zeros(2)
        copy.copy(x).add_(1)
        assert x.tolist() == [1, 1]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool", "complex64"])
def test_pickling(dtype: str) -> None:
    x = flow.tensor([[1, 0]], dtype=getattr(flow, dtype))
    x.requires_grad_(dtype == "float32")
    back = pickle.loads(pickle.dumps(x))
    assert back.dtype is x.dtype
    assert back.tolist() == x.tolist()
    assert back.requires_grad == x.requires_grad


# --- NumPy and DLPack


def test_arrays_of_other_dtypes_and_numbers() -> None:
    x = flow.ones(3)
    out = x.numpy()
    out[0] = 7
    assert x.tolist() == [1, 1, 1]
    assert np.asarray(x).dtype == np.float32
    assert np.asarray(x, np.float64).dtype == np.float64
    assert (x * np.float32(2)).tolist() == [2, 2, 2]
    assert (np.float64(2) * x).tolist() == [2, 2, 2]
    with pytest.raises(TypeError):
        flow.from_numpy([1, 2])


def test_dlpack_both_ways() -> None:
    x = flow.from_dlpack(torch.arange(3))
    assert x.tolist() == [0, 1, 2]
    assert torch.from_dlpack(x).tolist() == [0, 1, 2]
    assert np.from_dlpack(x).tolist() == [0, 1, 2]
    negative = torch._neg_view(torch.arange(3))
    with pytest.raises(BufferError, match="negative"):
        flow.from_dlpack(negative)
    assert flow.from_dlpack(negative.resolve_neg()).tolist() == [0, -1, -2]


def test_devices_that_are_not_there() -> None:
    if flow.cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    for move in (
        lambda x: x.cuda(),
        lambda x: x.to("cuda:1"),
        lambda x: flow.zeros(1, device="cuda"),
    ):
        with pytest.raises(RuntimeError, match="cuda"):
            move(flow.zeros(1))


def bases(lib):
    x = lib.ones(2, 3)
    detached = x.detach()
    complex_numbers, parts = lib.ones(3, dtype=lib.complex64), lib.ones(4).chunk(2)
    views = [x[0], x[0][1:], x.view(6), x.t(), x.as_strided((2,), (1,)), x.expand(2, 2, 3)]
    with lib.no_grad():
        views.append(x.requires_grad_()[0])
    found = [view._base is x and view._is_view() for view in views]
    found += [detached._is_view(), detached[0]._base is detached, x._base is None]
    found.append(complex_numbers.real._base is complex_numbers)
    orphan = lib.ones(4).view(2, 2)
    orphan._base.mul_(3)
    with lib.no_grad():
        part = lib.ones(4, requires_grad=True)[1:][1:]
    with lib.no_grad():
        part._base[3] = 7
    numbers = [tuple(part._base.shape), part.tolist()]
    numbers += [parts[1].output_nr, (x * 2)[0].output_nr, (x * 2).unbind()[1].output_nr]
    numbers += [lib.arange(8.0)[2:4].view(lib.int16).storage_offset()]
    numbers += [lib.arange(8.0)[2:6].view(lib.float64).storage_offset()]
    return found, orphan, orphan._base is orphan._base, numbers


def test_views_know_their_base():
    agree(bases)


def test_a_view_is_one_of_a_leaf_that_asked_for_gradients_later() -> None:
    base = flow.zeros(3)
    view = base[1:]
    base.requires_grad_()
    with pytest.raises(RuntimeError, match="a view of a leaf"):
        view.add_(1)
    with flow.no_grad():
        view.add_(1)
    assert base.tolist() == [0, 1, 1]
