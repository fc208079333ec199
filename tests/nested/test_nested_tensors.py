"""Nested tensors: values, sizes and gradients of what programs do with them, as in PyTorch."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.in_place import enabled

# PyTorch says that its nested tensors are young.
pytestmark = pytest.mark.filterwarnings("ignore")

LENGTHS = (3, 5, 1)
WIDTH = 8


def arrays(*lengths, width=WIDTH, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(length, width)).astype(np.float32) for length in lengths]


def heads(x):
    return x.unflatten(-1, [2, WIDTH // 2]).transpose(1, 2)


def attention(f, x, w, **options):
    project = f.nn.functional.linear
    q, k, v = (heads(project(x, w * scale)) for scale in (1.0, 0.5, 2.0))
    attended = f.nn.functional.scaled_dot_product_attention(q, k, v, **options)
    return attended.transpose(1, 2).flatten(2)


# Operations on components of several lengths and a matrix. `f` is the framework.
OPERATIONS = {
    "linear": lambda f, x, w: f.nn.functional.linear(x, w),
    "linear with bias": lambda f, x, w: f.nn.functional.linear(x, w, w[0]),
    "layer_norm": lambda f, x, w: f.nn.functional.layer_norm(x, (WIDTH,), w[0], w[1]),
    "rms_norm": lambda f, x, w: f.nn.functional.rms_norm(x, (WIDTH,), w[0]),
    "softmax": lambda f, x, w: x.softmax(-1),
    "log_softmax": lambda f, x, w: f.nn.functional.log_softmax(x, -1),
    "softmax of components": lambda f, x, w: x.softmax(1),
    "gelu": lambda f, x, w: f.nn.functional.gelu(x),
    "relu": lambda f, x, w: x.relu(),
    "silu": lambda f, x, w: f.nn.functional.silu(x),
    "sum with itself": lambda f, x, w: x + x * 2,
    "numbers": lambda f, x, w: (1 - x) / 2 + x**2,
    "by a row": lambda f, x, w: x * w[0],
    "by a tensor of one size": lambda f, x, w: x * w[:3].reshape(3, 1, WIDTH),
    "where": lambda f, x, w: f.where(x > 0, x, f.zeros_like(x)),
    "matmul": lambda f, x, w: f.matmul(x, w),
    "transpose": lambda f, x, w: x.transpose(1, 2) * 2,
    "unflatten": lambda f, x, w: x.unflatten(-1, [2, 4]).exp(),
    "unsqueeze": lambda f, x, w: x.unsqueeze(-1).squeeze(-1),
    "view": lambda f, x, w: x.view(3, -1, 2, WIDTH // 2).sin(),
    "chunk": lambda f, x, w: x.chunk(2, -1)[1] * 3,
    "cat": lambda f, x, w: f.cat([x, x * 2], 2),
    "mean of rows": lambda f, x, w: x - x.mean(-1, keepdim=True),
    "attention": attention,
    "causal attention": lambda f, x, w: attention(f, x, w, is_causal=True),
    "clone": lambda f, x, w: x.clone(),
}
# Results of one size.
REDUCTIONS = {
    "sum": lambda f, x, w: x.sum(),
    "sum of components": lambda f, x, w: x.sum(1),
    "mean of components": lambda f, x, w: x.mean(1),
    "max of components": lambda f, x, w: x.amax(1),
    "padded": lambda f, x, w: f.nested.to_padded_tensor(x, 7.0) * 2,
    "padded to a size": lambda f, x, w: f.nested.to_padded_tensor(x, -1.0, (3, 6, WIDTH)),
    "a component": lambda f, x, w: x[1] * 2,
    "values": lambda f, x, w: x.values() * 2,
    "values across": lambda f, x, w: x.transpose(1, 2).values() * 2,
    "components": lambda f, x, w: f.cat([part.sin() for part in x.unbind()]),
}

# PyTorch has no gradient of them, or that of the components' padded values: each component is
# compared by itself.
ONE_BY_ONE = {
    *("log_softmax", "softmax of components", "causal attention"),
    *("sum of components", "mean of components", "max of components"),
}


def components(result):
    """A result as a list of tensors."""
    return list(result.unbind()) if result.is_nested else [result]


def values_and_gradients(f, operation, one_by_one=False):
    parts = [f.tensor(part, requires_grad=True) for part in arrays(*LENGTHS)]
    matrix = f.tensor(arrays(WIDTH, seed=1)[0], requires_grad=True)
    if one_by_one:
        result = [operation(f, part.unsqueeze(0), matrix)[0] for part in parts]
    else:
        x = f.nested.as_nested_tensor(parts, layout=f.jagged)
        result = components(operation(f, x, matrix))
    sum((part * part.detach().cos()).sum() for part in result).backward()
    grads = [t.grad for t in (*parts, matrix) if t.grad is not None]
    return [t.detach().numpy() for t in (*result, *grads)]


@pytest.mark.parametrize("name", [*OPERATIONS, *REDUCTIONS])
def test_values_and_gradients_are_pytorchs(name):
    operation = {**OPERATIONS, **REDUCTIONS}[name]
    expected = values_and_gradients(torch, operation, name in ONE_BY_ONE)
    found = values_and_gradients(flow, operation)
    if name.endswith("of components") and name in REDUCTIONS:
        expected = [np.stack(expected[: len(LENGTHS)]), *expected[len(LENGTHS) :]]
    for expected_part, found_part in zip(expected, found, strict=True):
        np.testing.assert_allclose(found_part, expected_part, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("layout", ["jagged", "strided"])
def test_modules_take_components_of_several_lengths(layout):
    parts = arrays(*LENGTHS)
    model = flow.nn.Sequential(
        flow.nn.Linear(WIDTH, 4), flow.nn.LayerNorm(4), flow.nn.GELU(), flow.nn.Linear(4, 2)
    )
    x = flow.nested.nested_tensor(parts, layout=getattr(flow, layout), requires_grad=True)
    result = model(x)
    for part, found in zip(parts, result.unbind(), strict=True):
        expected = model(flow.tensor(part)).detach().numpy()
        np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-5, atol=1e-6)
    result.sum().backward()
    assert [part.shape for part in x.grad.unbind()] == [part.shape for part in parts]
    assert model[0].weight.grad is not None


# Facts of sizes, layouts and construction.
FACTS = {
    "sizes": lambda f, s, j: [s.size(0), s.size(-1), j.size(0), j.size(2), len(j), s.numel()],
    "ranks": lambda f, s, j: [s.ndim, j.dim(), s.is_nested, j.is_nested, f.ones(1).is_nested],
    "ragged sizes": lambda f, s, j: [
        j.size(1) == (j * 2).size(1),
        j.shape == (j + 1).shape,
        j.size(1) == 3,
        j.shape[2:] == (WIDTH,),
        j.unflatten(-1, [2, 4]).transpose(1, 2).shape == (3, 2, j.size(1), 4),
        j.view(3, j.size(1), 2, 4).shape[1] == j.size(1),
    ],
    "offsets": lambda f, s, j: [j.offsets().tolist(), j.lengths(), s.is_contiguous()],
    "dtypes": lambda f, s, j: [j.double().element_size(), j.is_floating_point()],
    "gradients": lambda f, s, j: [
        j.requires_grad,
        j.is_leaf,
        j.grad,
        (j * 1).is_leaf,
        j.detach().requires_grad,
    ],
    "narrow": lambda f, s, j: [
        part.tolist()
        for part in f.nested.narrow(
            f.arange(12).reshape(2, 6), 1, f.tensor([0, 2]), f.tensor([3, 1]), layout=f.jagged
        ).unbind()
    ],
    "masked_select": lambda f, s, j: [
        part.tolist()
        for part in f.nested.masked_select(
            f.arange(6).reshape(2, 3), f.arange(6).reshape(2, 3) % 2 == 0
        ).unbind()
    ],
    "from jagged": lambda f, s, j: [
        part.tolist()
        for part in f.nested.nested_tensor_from_jagged(
            f.arange(8).reshape(4, 2), f.tensor([0, 1, 4])
        ).unbind()
    ],
    "from jagged with gaps": lambda f, s, j: [
        part.tolist()
        for part in f.nested.nested_tensor_from_jagged(
            f.arange(8).reshape(4, 2), f.tensor([0, 2, 4]), f.tensor([1, 2])
        ).unbind()
    ],
    "lists": lambda f, s, j: [
        part.tolist() for part in f.nested.nested_tensor([[1.0, 2.0], [3.0]]).unbind()
    ],
    "embedding": lambda f, s, j: [
        part.shape[-1]
        for part in f.nn.functional.embedding(
            f.nested.nested_tensor([[1, 0], [2]], layout=f.jagged), f.ones(3, 5)
        ).unbind()
    ],
    "strided parts": lambda f, s, j: [
        tuple(part.shape) for part in f.nested.nested_tensor([f.ones(2, 3), f.ones(1, 5)]).unbind()
    ],
    "padded in two dimensions": lambda f, s, j: f.nested.to_padded_tensor(
        f.nested.nested_tensor([f.ones(2, 3), f.ones(1, 5)]), 0.0
    ).tolist(),
    "writes": lambda f, s, j: [x.tolist() for x in s.detach().clone().mul_(0).unbind()],
    "padded without components": lambda f, s, j: f.nested.to_padded_tensor(
        f.nested.nested_tensor([]), 0.0
    ).tolist(),
    "writes by keyword": lambda f, s, j: [
        x.tolist() for x in j.detach().clone().add_(other=j.detach(), alpha=2).unbind()
    ],
    "types by keyword": lambda f, s, j: s.type_as(other=s.double()).element_size(),
}


# Gradients of nested leaves. PyTorch takes them where it takes other leaves.
GRADIENTS = {
    "grad": lambda f, x: f.autograd.grad((x * x).sum(), [x])[0],
    "grad of nested": lambda f, x: f.autograd.grad(x * x, x, grad_outputs=f.ones_like(x))[0],
    "backward to inputs": lambda f, x: ((x * x).sum().backward(inputs=[x]), x.grad)[1],
    "materialized": lambda f, x: f.autograd.grad(
        f.ones((), requires_grad=True) * 2, x, materialize_grads=True, allow_unused=True
    )[0],
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_nested_leaves_are_pytorchs(name):
    def gradients(f):
        parts = [f.tensor(part) for part in arrays(*LENGTHS)]
        x = f.nested.nested_tensor(parts, layout=f.jagged, requires_grad=True)
        return [part.tolist() for part in GRADIENTS[name](f, x).unbind()]

    assert gradients(flow) == gradients(torch)


@pytest.mark.parametrize("use", [flow.nn.Parameter, lambda x: flow.optim.SGD([x], lr=0.1)])
def test_parameters_are_refused_when_they_are_made(use):
    x = flow.nested.nested_tensor(arrays(1, 2), requires_grad=True)
    with pytest.raises(TypeError, match="NestedTensor"):
        use(x)


# Offsets and lengths of five rows.
DIVISIONS = {
    "offsets": ([0, 2, 5], None),
    "gaps": ([0, 2, 5], [1, 2]),
    "lengths": (None, [2, 3]),
    "not from 0": ([1, 3, 5], None),
    "descending": ([0, 3, 2, 5], None),
    "not to the end": ([0, 2, 4], None),
    "beyond the end": ([0, 2, 7], None),
    "one offset": ([0], None),
    "of two dimensions": ([[0, 5]], None),
    "fractions": ([0.0, 2.0, 5.0], None),
    "fewer offsets than lengths": ([0, 2], [2, 2]),
    "more lengths than offsets": ([0, 2, 5], [1, 2, 1]),
    "too short lengths": (None, [2, 2]),
    "too long lengths": (None, [2, 9]),
}


@pytest.mark.parametrize("name", DIVISIONS)
def test_divisions_are_taken_or_refused_as_by_pytorch(name):
    def division(f):
        given = [None if value is None else f.tensor(value) for value in DIVISIONS[name]]
        try:
            x = f.nested.nested_tensor_from_jagged(f.arange(10.0).reshape(5, 2), *given)
            return [part.tolist() for part in x.unbind()]
        except (RuntimeError, TypeError, AssertionError):
            return None

    assert division(flow) == division(torch)


@pytest.mark.parametrize("name", FACTS)
def test_sizes_and_construction_are_pytorchs(name):
    def facts(f):
        parts = [f.tensor(part) for part in arrays(*LENGTHS)]
        strided = f.nested.nested_tensor(parts)
        jagged = f.nested.nested_tensor(parts, layout=f.jagged, requires_grad=True)
        return FACTS[name](f, strided, jagged)

    assert facts(flow) == facts(torch)


@pytest.mark.parametrize("layout", ["jagged", "strided"])
def test_texts_are_pytorchs(layout):
    def text(f):
        parts = [f.tensor([[1.0, 2.0]]), f.tensor([[3.0, 4.0], [5.0, 6.0]])]
        return repr(f.nested.nested_tensor(parts, layout=getattr(f, layout)))

    with enabled():
        found = text(flow)
    # PyTorch counts the ragged sizes of a process.
    expected = text(torch)
    if layout == "jagged":
        found, expected = (t.split(", offsets")[1] for t in (found, expected))
    assert found == expected


REFUSED = {
    "ranks differ": lambda f, j: f.nested.nested_tensor([f.ones(2), f.ones(2, 2)]),
    "two dimensions differ": lambda f, j: f.nested.nested_tensor(
        [f.ones(2, 3), f.ones(1, 5)], layout=f.jagged
    ),
    "no offsets": lambda f, j: f.nested.nested_tensor_from_jagged(f.ones(3, 2)),
    "an operator that takes none": lambda f, j: f.nn.functional.conv2d(j, f.ones(1, 1, 1, 1)),
    "too small a size": lambda f, j: f.nested.to_padded_tensor(
        f.nested.nested_tensor([f.ones(3)]), 0.0, (1, 2)
    ),
    "unbind of another dimension": lambda f, j: j.unbind(2),
    "a view of other components": lambda f, j: j.view(1, -1, WIDTH),
    "shape of strided components": lambda f, j: f.nested.nested_tensor([f.ones(2)]).shape,
    "padding of one size": lambda f, j: f.nested.to_padded_tensor(f.ones(2), 0.0),
    "components along dimension 0": lambda f, j: j.softmax(0),
    "a tensor of other components": lambda f, j: j + f.nested.nested_tensor([f.ones(1, WIDTH)]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_by_pytorch(name):
    for f in (torch, flow):
        parts = [f.tensor(part) for part in arrays(*LENGTHS)]
        with pytest.raises((RuntimeError, TypeError)):
            REFUSED[name](f, f.nested.nested_tensor(parts, layout=f.jagged))


def test_means_of_all_components():
    parts = arrays(*LENGTHS)
    x = flow.nested.nested_tensor(parts, layout=flow.jagged)
    expected = np.concatenate(parts).mean(0)
    np.testing.assert_allclose(x.mean((0, 1)).numpy(), expected, rtol=1e-5, atol=1e-6)


def test_views_write_to_the_nested_tensor():
    x = flow.nested.nested_tensor(arrays(*LENGTHS))
    x.unbind()[1][0] = 5
    assert x[1][0].tolist() == [5.0] * WIDTH
    x += 1
    assert x[1][0].tolist() == [6.0] * WIDTH


def saved_and_loaded(x):
    file = io.BytesIO()
    flow.save({"x": x}, file)
    file.seek(0)
    return flow.load(file)["x"]


@pytest.mark.parametrize(
    "way", [copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x)), saved_and_loaded]
)
def test_copies_are_equal(way):
    x = flow.nested.nested_tensor(arrays(*LENGTHS), layout=flow.jagged, requires_grad=True)
    found = way(x)
    assert (found.requires_grad, found.layout) == (True, flow.jagged)
    assert [part.tolist() for part in found.unbind()] == [part.tolist() for part in x.unbind()]


def test_components_without_elements_have_gradients_that_are_numbers():
    parts = [flow.tensor(part, requires_grad=True) for part in arrays(0, 2)]
    x = flow.nested.as_nested_tensor(parts, layout=flow.jagged)
    attention(flow, x, flow.eye(WIDTH)).sum().backward()
    assert np.isfinite(parts[1].grad.numpy()).all()


def test_hooks_get_nested_gradients():
    x = flow.nested.nested_tensor(arrays(1, 2), requires_grad=True)
    seen = []
    y = x * 2
    y.register_hook(lambda grad: seen.append(grad.unbind()[1].shape))
    y.backward(flow.ones_like(y))
    assert seen == [(2, WIDTH)]
    assert x.grad.unbind()[0].tolist() == [[2.0] * WIDTH]


@pytest.mark.parametrize("layout", ["strided", "jagged"])
def test_components_without_elements_are_padded(layout):
    x = flow.nested.nested_tensor([flow.ones(0, 3), flow.ones(0, 3)], layout=getattr(flow, layout))
    assert flow.nested.to_padded_tensor(x, 0.0).shape == (2, 0, 3)
    assert flow.nested.to_padded_tensor(x, 7.0, (2, 1, 3)).tolist() == [[[7.0] * 3]] * 2


def test_a_nested_tensor_is_not_what_is_no_number():
    x = flow.nested.nested_tensor([flow.ones(2), flow.ones(3)])
    assert (x == None, x != None) == (False, True)  # noqa: E711
    with pytest.raises(TypeError, match="unsupported operand"):
        x + None


@pytest.mark.parametrize(
    "name",
    ["_nested_tensor_size", "_nested_tensor_strides", "_nested_tensor_storage_offsets"],
)
@pytest.mark.parametrize("shapes", [[(2, 2), (3, 2)], [(4,), (0,), (1,)], [(1, 2, 3)]])
def test_places_of_components_are_those_of_pytorch(name, shapes):
    def places(f):
        x = f.nested.nested_tensor([f.ones(shape) for shape in shapes])
        result = getattr(x, name)()
        return result.tolist(), tuple(result.shape), str(result.dtype).rpartition(".")[2]

    assert places(flow) == places(torch)
    with pytest.raises(NotImplementedError, match="jagged"):
        getattr(flow.nested.nested_tensor([flow.ones(1)], layout=flow.jagged), name)()
