"""Placements, signatures and global tensors as users meet them."""

import copy
import inspect
import pickle

import numpy as np
import pytest

import oneflow as flow
from oneflow.functional.creation.conversion import TENSOR_TYPES

S, B, P = flow.sbp.split, flow.sbp.broadcast, flow.sbp.partial_sum
PAIR = flow.placement("cpu", [0, 1])
GRID = flow.placement("cpu", [[0, 1], [2, 3]])


def test_spellings_of_a_placement():
    assert flow.placement("cpu", {0: [0, 1]}) is PAIR
    assert flow.placement("cpu", "0:0-1") is PAIR
    assert flow.placement(type="cpu", ranks=range(2)) is PAIR
    assert flow.placement("cpu", {0: [0, 1, 2, 3]}, (2, 2)) is GRID
    assert repr(GRID) == 'oneflow.placement(type="cpu", ranks=[[0, 1], [2, 3]])'
    assert flow.placement.all("cpu").size == 8
    assert pickle.loads(pickle.dumps(GRID)) is GRID
    assert copy.deepcopy(S(0)) is S(0)


@pytest.mark.parametrize(("kind", "match"), [("tpu", "no device of"), ("gpus", "gpus")])
def test_no_placement_of_all_devices_where_there_is_none(kind, match):
    with pytest.raises(ValueError, match=match):
        flow.env.all_device_placement(kind)


@pytest.mark.parametrize("made", [flow.Tensor, flow.LongTensor, flow.zeros(2).new])
def test_none_is_no_data(made):
    assert made(None).shape == (0,)
    assert made(None).dtype is made().dtype


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        (("gpus", [0]), ValueError, "unknown device type"),
        (("cpu", [0, 0]), ValueError, "different"),
        (("cpu", [-1]), ValueError, "from 0 on"),
        (("cpu", "x"), ValueError, "0:0-3"),
        (("cpu", []), ValueError, "integers"),
        (("cpu", [0, 1], (3,)), ValueError, "does not fit"),
    ],
)
def test_bad_placements(arguments, error, match):
    with pytest.raises(error, match=match):
        flow.placement(*arguments)


def test_bad_arguments_of_new_tensors():
    with pytest.raises(RuntimeError, match="rank 8 does not exist"):
        flow.ones(2, placement=flow.placement("cpu", [8]), sbp=B)
    with pytest.raises(ValueError, match="`sbp` is missing"):
        flow.ones(2, placement=PAIR)
    with pytest.raises(ValueError, match="one per dimension"):
        flow.ones(2, placement=GRID, sbp=B)
    with pytest.raises(IndexError, match="does not fit"):
        flow.ones(2, placement=PAIR, sbp=S(1))
    with pytest.raises(TypeError, match="must be a"):
        flow.ones(2, placement="cpu", sbp=B)
    with pytest.raises(ValueError, match="not both"):
        flow.ones(2, device="cpu", placement=PAIR, sbp=B)


LIKE = flow.arange(24, dtype=flow.float32).reshape(4, 6)
ROWS = [[1, 2, 3], [4, 5, 6]]
# Calls, by name, of all functions that make tensors and take a placement.
CREATION = {
    "zeros": lambda **where: flow.zeros(4, 6, **where),
    "ones": lambda **where: flow.ones(4, 6, **where),
    "full": lambda **where: flow.full((4, 6), 2.5, **where),
    "empty": lambda **where: flow.empty(4, 6, **where),
    "zeros_like": lambda **where: flow.zeros_like(LIKE, **where),
    "ones_like": lambda **where: flow.ones_like(LIKE, **where),
    "full_like": lambda **where: flow.full_like(LIKE, 2.5, **where),
    "empty_like": lambda **where: flow.empty_like(LIKE, **where),
    "rand": lambda **where: flow.rand(4, 6, **where),
    "randn": lambda **where: flow.randn(4, 6, **where),
    "randint": lambda **where: flow.randint(0, 9, (4, 6), **where),
    "rand_like": lambda **where: flow.rand_like(LIKE, **where),
    "randn_like": lambda **where: flow.randn_like(LIKE, **where),
    "randint_like": lambda **where: flow.randint_like(LIKE, 9, **where),
    "normal": lambda **where: flow.normal(0.0, 1.0, (4, 6), **where),
    "normal of tensors": lambda **where: flow.normal(LIKE, 1.0, **where),
    "eye": lambda **where: flow.eye(4, 6, **where),
    "tensor": lambda **where: flow.tensor(ROWS, **where),
    "tensor of a tensor": lambda **where: flow.tensor(LIKE, **where),
    "Tensor": lambda **where: flow.Tensor(ROWS, **where),
    "Tensor of a tensor": lambda **where: flow.Tensor(LIKE, **where),
    "FloatTensor": lambda **where: flow.FloatTensor(ROWS, **where),
    "FloatTensor of a tensor": lambda **where: flow.FloatTensor(LIKE, **where),
    "new_zeros": lambda **where: LIKE.new_zeros(4, 6, **where),
    "new_ones": lambda **where: LIKE.new_ones(4, 6, **where),
    "new_full": lambda **where: LIKE.new_full((4, 6), 2.5, **where),
    "new_empty": lambda **where: LIKE.new_empty(4, 6, **where),
    "new_tensor": lambda **where: LIKE.new_tensor(ROWS, **where),
}
OF_ONE_DIMENSION = {
    "arange": lambda size, **where: flow.arange(size, **where),
    "linspace": lambda size, **where: flow.linspace(0, 1, size, **where),
    "logspace": lambda size, **where: flow.logspace(0, 1, size, **where),
    "randperm": lambda size, **where: flow.randperm(size, **where),
}
CONVERSIONS = {"to_global", "to_consistent", "local_to_global", "global_to_global"}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CREATION)
@pytest.mark.parametrize("sbp", [(S(0), S(1)), (S(-1), B), (B, P), (S(0), S(0))], ids=str)
def test_creation_is_the_same_however_it_lies(name, sbp):
    make = CREATION[name]
    flow.manual_seed(1)
    local = make()
    flow.manual_seed(1)
    x = make(placement=GRID, sbp=sbp)
    assert x.is_global
    assert not x.is_local
    assert x.placement is GRID
    assert x.shape == local.shape
    assert x.dtype is local.dtype
    np.testing.assert_array_equal(x.numpy(), local.numpy())
    for part in ({"placement": GRID}, {"sbp": sbp}):
        with pytest.raises(ValueError, match="is missing"):
            make(**part)


def test_no_creation_is_forgotten():
    found = {
        name
        for space in (flow, flow.Tensor)
        for name, variable in vars(space).items()
        if callable(variable) and not name.startswith("_") and takes_a_placement(variable)
    }
    found -= {"read_onerec"}  # reads a file; it is there once somebody has asked for it
    assert found - {*TENSOR_TYPES} <= {*CREATION, *OF_ONE_DIMENSION, *CONVERSIONS}


def takes_a_placement(function):
    try:
        return "placement" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


@pytest.mark.parametrize(
    "name", [function_name for function_name in CREATION if function_name.endswith("_like")]
)
def test_tensors_like_global_ones(name):
    make = getattr(flow, name)
    given = {"full_like": (1.0,), "randint_like": (5,)}.get(name, ())
    x = flow.ones(4, 6, placement=GRID, sbp=(S(0), P))
    assert make(x, *given).sbp == (S(0), B)
    assert make(x, *given, sbp=(B, S(1))).sbp == (B, S(1))
    assert make(x, *given, placement=PAIR, sbp=S(1)).placement is PAIR
    assert make(x, *given, device="cpu").is_local
    with pytest.raises(ValueError, match="not both"):
        make(x, *given, device="cpu", placement=PAIR, sbp=B)


@pytest.mark.parametrize("size", [7, 8])
def test_ranges(size):
    for make in OF_ONE_DIMENSION.values():
        flow.manual_seed(1)
        local = make(size)
        flow.manual_seed(1)
        np.testing.assert_array_equal(make(size, placement=PAIR, sbp=S(0)).numpy(), local.numpy())


def test_local_tensors_have_no_placement():
    x = flow.ones(2)
    assert x.is_local
    for name in ("placement", "sbp"):
        with pytest.raises(RuntimeError, match="to_global"):
            getattr(x, name)
    with pytest.raises(RuntimeError, match="to_global"):
        x.to_local()


def test_local_and_global_do_not_mix():
    with pytest.raises(RuntimeError, match="to_global"):
        flow.ones(2) + flow.ones(2, placement=PAIR, sbp=B)
    with pytest.raises(RuntimeError, match="to_global"):
        flow.ones(2, placement=GRID, sbp=(B, B)) + flow.ones(2, placement=PAIR, sbp=B)


def test_printing_shows_where_it_lies():
    x = flow.ones(2, placement=PAIR, sbp=S(0))
    assert repr(x) == (
        'tensor([1., 1.], placement=oneflow.placement(type="cpu", ranks=[0, 1]),\n'
        "       sbp=(oneflow.sbp.split(dim=0),), dtype=oneflow.float32)"
    )


def test_names_of_earlier_versions():
    x = flow.randn(2, 5).to_consistent(placement=PAIR, sbp=S(0))
    assert x.is_consistent
    assert x.shape == (4, 5)
    assert x.to_local().shape == (2, 5)


def test_inferred_layouts():
    x, w = flow.randn(4, 6, placement=PAIR, sbp=S(0)), flow.randn(6, 8, placement=PAIR, sbp=B)
    assert flow.matmul(x, w).sbp == (S(0),)
    y, v = x.to_global(sbp=B), w.to_global(sbp=S(1))
    assert flow.matmul(y, v).sbp == (S(1),)
    assert flow.matmul(x.to_global(sbp=S(1)), w.to_global(sbp=S(0))).sbp == (P,)


def test_a_layer_split_by_columns_then_by_rows_communicates_once():
    x = flow.randn(4, 6, placement=PAIR, sbp=B)
    up, down = flow.nn.Linear(6, 8), flow.nn.Linear(8, 6)
    for layer, weight, bias in ((up, S(0), S(0)), (down, S(1), B)):
        layer.weight = flow.nn.Parameter(layer.weight.to_global(PAIR, B).to_global(sbp=weight))
        layer.bias = flow.nn.Parameter(layer.bias.to_global(PAIR, B).to_global(sbp=bias))
    hidden = flow.nn.functional.relu(up(x))
    assert hidden.sbp == (S(1),)
    assert down(hidden).sbp == (P,)


def test_a_training_step_equals_the_local_one():
    flow.manual_seed(0)
    model = flow.nn.Sequential(flow.nn.Linear(6, 8), flow.nn.ReLU(), flow.nn.Linear(8, 3))
    twin = copy.deepcopy(model).to_global(PAIR, B)
    data, labels = flow.randn(8, 6), flow.randint(0, 3, (8,))
    losses = []
    for net, x, y in (
        (model, data, labels),
        (twin, data.to_global(PAIR, B).to_global(sbp=S(0)), labels.to_global(PAIR, B)),
    ):
        optimizer = flow.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        losses.append([])
        for _ in range(5):
            loss = flow.nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
    assert twin[0].weight.sbp == (B,)


@pytest.mark.parametrize("sbp", [S(0), B, P])
def test_operands_without_elements(sbp):
    x = flow.ones(2, 0, placement=PAIR, sbp=sbp)
    assert (x @ x.T).tolist() == [[0, 0], [0, 0]]
    assert flow.cat([x, x.to_global(sbp=B)], 1).to_global(sbp=S(1)).shape == (2, 0)


def test_numbers_chosen_by_a_global_condition():
    condition = flow.tensor([True, False, True], placement=PAIR, sbp=S(0))
    chosen = flow.where(condition, 1, 2.5)
    assert chosen.sbp == (S(0),)
    assert chosen.tolist() == [1, 2.5, 1]


def test_arrays_and_numbers_join_a_global_tensor():
    x = flow.arange(6.0, placement=PAIR, sbp=S(0)).reshape(2, 3)
    array = np.array([1.0, 2.0, 3.0], np.float32)
    for found in (
        x + array,
        array + x,
        x.add(array),
        x + flow.tensor(2.0),
        x * np.float64(2),
        x * 1j,
    ):
        assert found.placement is PAIR
    assert (x + array).tolist() == [[1.0, 3.0, 5.0], [4.0, 6.0, 8.0]]
    assert (array - x).tolist() == [[1.0, 1.0, 1.0], [-2.0, -2.0, -2.0]]


@pytest.mark.parametrize("placement", [PAIR, GRID])
def test_a_table_split_by_rows_stays_where_it_is(placement):
    table = flow.randn(64, 3)
    indices = flow.tensor([[0, 63, 31], [32, 7, 40]])
    wanted = flow.nn.functional.embedding(indices, table)
    every = (B,) * placement.ndim
    rows = (S(0),) * placement.ndim
    mine = table.to_global(placement, every).to_global(sbp=rows).requires_grad_()
    found = flow.nn.functional.embedding(indices.to_global(placement, every), mine)
    assert found.sbp == (P,) * placement.ndim
    assert flow.equal(flow.tensor(found.numpy()), wanted)
    (found * found).sum().backward()
    theirs = table.clone().requires_grad_()
    (flow.nn.functional.embedding(indices, theirs) ** 2).sum().backward()
    np.testing.assert_allclose(mine.grad.numpy(), theirs.grad.numpy(), rtol=1e-6)
    with pytest.raises(IndexError, match="index 64, but the table has 64 rows"):
        flow.nn.functional.embedding(
            flow.tensor([64]).to_global(placement, every), mine.detach()
        ).numpy()


@pytest.mark.parametrize("sbp", [S(0), S(1), B])
def test_the_type_of_another_tensor_is_its_placement_too(sbp):
    x = flow.arange(8.0).reshape(4, 2).requires_grad_()
    wide = flow.zeros(2, 2, dtype=flow.float64, placement=PAIR, sbp=sbp)
    single = flow.ones(3, dtype=flow.float16, placement=flow.placement("cpu", [1]), sbp=B)
    whole = x.to_global(PAIR, B)
    for source in (x.to_global(PAIR, S(0)), whole, single.new_ones(2, 2)):
        moved = source.type_as(wide)
        assert (moved.dtype, moved.placement, moved.sbp) == (flow.float64, PAIR, (sbp,))
        assert moved.tolist() == source.tolist()
    assert whole.type_as(single).placement == single.placement
    assert x.type_as(wide).sbp == (sbp,)
    local = whole.type_as(flow.ones(1, dtype=flow.float64))
    assert local.is_local
    assert local.dtype == flow.float64
    local.sum().backward()
    assert x.grad.tolist() == [[1, 1]] * 4
