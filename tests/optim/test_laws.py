"""Laws that hold for every optimizer of the table."""

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow.eager import statistics
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.optimizer import pack_numbers
from oneflow.runtime.eager import current
from tests.optim.table import COMPOSED_ROWS, OWN_ROWS, ROWS
from tests.oracle import eager_mode

TARGET = np.array([[1.0, -2.0, 3.0], [-0.5, 0.25, 2.0]], np.float32)
START = np.array([[0.3, 0.2, -0.1], [0.7, -0.9, 0.4]], np.float32)
TORCH_ROWS = [*ROWS, *COMPOSED_ROWS]
EVERY_ROW = [*TORCH_ROWS, *OWN_ROWS]
all_rows = pytest.mark.parametrize("row", EVERY_ROW, ids=lambda row: row.label)
converging_rows = pytest.mark.parametrize(
    "row", [row for row in EVERY_ROW if row.converges], ids=lambda row: row.label
)
torch_rows = pytest.mark.parametrize("row", TORCH_ROWS, ids=lambda row: row.label)


def parameters(row, dtype=np.float32):
    """A matrix, and a vector if the optimizer takes it."""
    return [START.astype(dtype), (START[:1] if row.matrices_only else START[0]).astype(dtype)]


def losses(lib, tensors):
    """A loss whose gradient depends on the parameters and is not linear."""
    matrix, vector = tensors
    target = lib.tensor(TARGET) if lib is torch else flow.tensor(TARGET)
    distance = matrix - target.to(matrix.dtype)
    return (distance**2).sum() + (distance**4).sum() * 0.01 + ((vector - 1.0) ** 2).sum()


def ours(row, dtype=np.float32):
    return [flow.tensor(array).requires_grad_() for array in parameters(row, dtype)]


def train(lib, tensors, optimizer, steps, schedule=False):
    for step in range(steps):
        optimizer.zero_grad()
        losses(lib, tensors).backward()
        if isinstance(optimizer, torch.optim.SparseAdam):
            for tensor in tensors:
                tensor.grad = tensor.grad.to_sparse()
        if schedule:
            optimizer.param_groups[0]["lr"] = 0.1 / (1 + step)
        optimizer.step()


@torch_rows
def test_equals_torch_for_twenty_steps(row):
    mine = ours(row, np.float64)
    theirs = [torch.tensor(array).requires_grad_() for array in parameters(row, np.float64)]
    optimizers = row.make(mine), row.make_torch(theirs)
    schedule = row.name != "Rprop"
    train(flow, mine, optimizers[0], 20, schedule)
    train(torch, theirs, optimizers[1], 20, schedule)
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(
            one.numpy(), other.detach().numpy(), rtol=row.tolerance, atol=row.tolerance * 1e-5
        )


@pytest.mark.parametrize("mode", ["cold", pytest.param("compiled", marks=pytest.mark.one_in(5))])
@pytest.mark.parametrize(
    "row", [row for row in EVERY_ROW if not row.matrices_only], ids=lambda row: row.label
)
def test_three_steps_are_near_those_in_float64(row, mode):
    """In units of the last place of the largest number that a parameter was, or was moved by."""
    exact, single = ours(row, np.float64), ours(row, np.float32)
    for tensor, rounded in zip(exact, single, strict=True):
        tensor.data = rounded.data.double()
    optimizers = row.make(exact), row.make(single)
    largest = [0.0 for _ in exact]
    for _ in range(3):
        before = [tensor.numpy().copy() for tensor in exact]
        train(flow, exact, optimizers[0], 1)
        with eager_mode(mode):
            train(flow, single, optimizers[1], 1)
            after = [tensor.numpy() for tensor in single]
        for index, (tensor, old) in enumerate(zip(exact, before, strict=True)):
            new = tensor.numpy()
            sizes = np.maximum(np.abs(new - old), np.maximum(np.abs(new), np.abs(old)))
            largest[index] = np.maximum(largest[index], sizes)
            units = np.abs(after[index] - new) / (largest[index] * 2.0**-23)
            assert units.max() <= 16, (index, units)


@pytest.mark.parametrize("mode", ["cold", pytest.param("compiled", marks=pytest.mark.one_in(5))])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.label)
def test_infinite_parameters_become_what_they_become_in_torch(row, mode):
    numbers = np.array([[1.0, np.inf], [-np.inf, np.nan]])
    mine = flow.tensor(numbers, requires_grad=True)
    theirs = torch.tensor(numbers, requires_grad=True)
    optimizers = row.make([mine]), row.make_torch([theirs])
    for _ in range(2):
        mine.grad, theirs.grad = flow.full_like(mine, 0.5), torch.full_like(theirs, 0.5)
        if row.name == "SparseAdam":
            theirs.grad = theirs.grad.to_sparse()
        with eager_mode(mode):
            optimizers[0].step()
            got = mine.detach().numpy()
        optimizers[1].step()
    np.testing.assert_allclose(got, theirs.detach().numpy(), rtol=row.tolerance)


@torch_rows
def test_keeps_the_states_that_torch_keeps(row):
    mine, theirs = ours(row), [torch.tensor(array).requires_grad_() for array in parameters(row)]
    optimizers = row.make(mine), row.make_torch(theirs)
    train(flow, mine, optimizers[0], 2)
    train(torch, theirs, optimizers[1], 2)
    for one, other in zip(mine, theirs, strict=True):
        state, reference = optimizers[0].state[one], optimizers[1].state[other]
        for name, value in reference.items():
            if value is None or name == "step":
                continue
            got = state[name].numpy() if isinstance(state[name], flow.Tensor) else state[name]
            np.testing.assert_allclose(got, value.numpy(), rtol=1e-5, atol=1e-7, err_msg=name)


@converging_rows
def test_converges(row):
    mine = ours(row)
    optimizer = (
        row.make(mine, weight_decay=0.0) if "weight_decay" in row.options else row.make(mine)
    )
    train(flow, mine, optimizer, 150)
    assert losses(flow, mine).item() < 0.05


@all_rows
def test_second_step_compiles_nothing_even_when_the_learning_rate_changes(row):
    mine = ours(row)
    optimizer = row.make(mine)
    train(flow, mine, optimizer, 5)
    flow.eager.synchronize()
    statistics().reset()
    train(flow, mine, optimizer, 3, schedule=row.name != "Rprop")
    seen = statistics()
    assert (seen.new_programs, seen.program_compiles, seen.operation_compiles) == (0, 0, 0)


@all_rows
def test_the_first_step_is_the_same_program_as_the_second(row):
    mine = ours(row)
    optimizer = row.make(mine)
    train(flow, mine, optimizer, 1)
    statistics().reset()
    train(flow, mine, optimizer, 1)
    # The parameters were leaves from outside before and are results now, which nobody else holds.
    assert statistics().operation_compiles == 0
    assert statistics().new_programs <= 1


@all_rows
def test_state_dict_round_trip(row):
    mine = ours(row)
    optimizer = row.make(mine)
    train(flow, mine, optimizer, 3)
    saved = optimizer.state_dict()
    twins = [flow.tensor(tensor.numpy()).requires_grad_() for tensor in mine]
    twin = row.make(twins, lr=0.7)
    twin.load_state_dict(saved)
    train(flow, mine, optimizer, 3)
    train(flow, twins, twin, 3)
    for one, other in zip(mine, twins, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6)


@torch_rows
def test_goes_on_from_a_state_dict_of_torch(row):
    theirs = [torch.tensor(array).requires_grad_() for array in parameters(row)]
    reference = row.make_torch(theirs)
    train(torch, theirs, reference, 3)
    mine = [flow.tensor(tensor.detach().numpy()).requires_grad_() for tensor in theirs]
    optimizer = row.make(mine)
    optimizer.load_state_dict(as_ours(reference.state_dict()))
    train(flow, mine, optimizer, 3)
    train(torch, theirs, reference, 3)
    for one, other in zip(mine, theirs, strict=True):
        tolerance = max(row.tolerance, 1e-5)
        np.testing.assert_allclose(
            one.numpy(), other.detach().numpy(), rtol=tolerance, atol=tolerance / 10
        )


def as_ours(value):
    """PyTorch's tensors replaced by ours."""
    if isinstance(value, torch.Tensor):
        return flow.tensor(value.numpy())
    if isinstance(value, dict):
        return {name: as_ours(part) for name, part in value.items()}
    return [as_ours(part) for part in value] if isinstance(value, list) else value


@all_rows
def test_parameters_without_gradient_are_left_alone(row):
    mine = ours(row)
    unused = flow.tensor(START).requires_grad_()
    optimizer = row.make([*mine, unused])
    train(flow, mine, optimizer, 2)
    assert unused not in optimizer.state
    np.testing.assert_array_equal(unused.numpy(), START)


@pytest.mark.parametrize("row", [*ROWS, *OWN_ROWS], ids=lambda row: row.label)
def test_one_instruction_for_all_parameters(row):
    mine = ours(row)
    optimizer = row.make(mine)
    train(flow, mine, optimizer, 1)
    optimizer.zero_grad()
    losses(flow, mine).backward()
    flow.eager.synchronize()
    with flow.no_grad():
        optimizer._update_group(optimizer.param_groups[0])
    recorded = [entry for entry in current.recorder.key if isinstance(entry, Operation)]
    assert [operation.primitive for operation in recorded] == [pack_numbers, optimizer._update]


def _complex_parameters_of(row, make, library):
    start = np.array([1.0 + 0.5j, -2.0 + 0.1j, 0.5 - 2.0j], np.complex64)
    parameter = library.tensor(start).requires_grad_()
    optimizer = make([parameter])
    for scale in (1.0, -0.3, 0.2, 2.0):
        parameter.grad = library.tensor(scale * start[::-1].copy())
        optimizer.step()
    return parameter.detach().numpy()


@pytest.mark.parametrize(
    "row", [r for r in ROWS if r.name not in ("Muon", "SparseAdam")], ids=lambda row: row.label
)
def test_the_parts_of_complex_parameters_are_parameters(row):
    got = _complex_parameters_of(row, row.make, flow)
    expected = _complex_parameters_of(row, row.make_torch, torch)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "complex64"])
@pytest.mark.parametrize("row", [ROWS[1], ROWS[5], ROWS[8]], ids=lambda row: row.label)
def test_half_precision_and_complex_parameters(row, dtype):
    start = np.array([1.0, -2.0, 0.5], np.float32)
    array = start + 1j * start[::-1] if dtype == "complex64" else start
    mine = flow.tensor(array).to(getattr(flow, dtype)).requires_grad_()
    theirs = torch.tensor(array).to(getattr(torch, dtype)).requires_grad_()
    optimizers = row.make([mine]), row.make_torch([theirs])
    gradient = np.array([0.3, 0.1, -0.7], np.float32)
    if dtype == "complex64":
        gradient = gradient + 1j * gradient[::-1]
    for _ in range(4):
        mine.grad = flow.tensor(gradient).to(mine.dtype)
        theirs.grad = torch.tensor(gradient).to(theirs.dtype)
        for optimizer in optimizers:
            optimizer.step()
    assert optimizers[0].state[mine].get("exp_avg", mine).dtype is mine.dtype
    got, expected = mine.detach(), theirs.detach()
    if dtype != "complex64":
        got, expected = got.to(flow.float32), expected.to(torch.float32)
    np.testing.assert_allclose(
        got.numpy(), expected.numpy(), rtol=1e-5 if dtype == "complex64" else 4e-2
    )
