"""Functions that need split dimensions only for sums over them: values, gradients, what moves."""

import numpy as np
import pytest

import oneflow as flow
from oneflow.dispatch import global_call
from oneflow.nn import functional as F
from oneflow.primitives.operators.norm import moments
from oneflow.tensor.call import call
from tests.graph.helpers import graph_of, only_step

S, B = flow.sbp.split, flow.sbp.broadcast
PAIR = flow.placement("cpu", [0, 1])
GRID = flow.placement("cpu", [[0, 1], [2, 3]])
IMAGE = (4, 3, 2, 2)


def made(*shape):
    """Reproducible local numbers."""
    return flow.tensor(np.random.default_rng(shape).uniform(0.1, 0.9, shape))


def spread(tensor, placement, sbp):
    """The same numbers as a global tensor."""
    everywhere = tensor.to_global(placement, [B] * placement.ndim)
    return everywhere.to_global(placement, sbp)


def labels(like):
    found = flow.tensor([0, 1, 2, -100])
    return spread(found, like.placement, S(0)) if like.is_global else found


def batch_norm(x, weight, bias):
    return F.batch_norm(x, None, None, weight, bias, training=True)


def weighted_cross_entropy(x, weight):
    return F.cross_entropy(x, labels(x), weight)


CALLS = {
    "var": (lambda x: x.var(0), [(4, 6)]),
    "std": (lambda x: x.std(), [(4, 6)]),
    "norm": (lambda x: x.norm(), [(4, 6)]),
    "nanmean": (lambda x: x.nanmean(), [(4, 6)]),
    "cross entropy": (lambda x: F.cross_entropy(x, labels(x)), [(4, 6)]),
    "smoothed": (lambda x: F.cross_entropy(x, labels(x), label_smoothing=0.1), [(4, 6)]),
    "weighted": (weighted_cross_entropy, [(4, 6), (6,)]),
    "nll": (lambda x: F.nll_loss(x, labels(x)), [(4, 6)]),
    "moments": (lambda x: flow.cat(call(moments, x, dims=(0, 2, 3))), [IMAGE]),
    "batch norm": (batch_norm, [IMAGE, (3,), (3,)]),
    "batch norm without weight": (lambda x: batch_norm(x, None, None), [IMAGE]),
    "layer norm": (lambda x: F.layer_norm(x, (4, 6)), [(4, 6)]),
    "group norm": (lambda x: F.group_norm(x, 1), [IMAGE]),
}


def results_of(function, leaves, tensors):
    """Result, first and second gradients."""
    result = function(*tensors)
    leaves = leaves[: 1 if function is weighted_cross_entropy else None]
    grads = flow.autograd.grad((result * result).sum(), leaves, create_graph=True)
    again = flow.autograd.grad(sum((gradient * gradient).sum() for gradient in grads), leaves)
    return [tensor.numpy() for tensor in (result, *grads, *again)]


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(name, sample):
    sample.take_turns(CALLS, name, len(CALLS) // 4)
    function, shapes = CALLS[name]
    leaves = [made(*shape).requires_grad_() for shape in shapes]
    expected = results_of(function, leaves, leaves)
    tensors = [spread(x, PAIR, B if n else S(0)) for n, x in enumerate(leaves)]
    for mine, local in zip(results_of(function, leaves, tensors), expected, strict=True):
        np.testing.assert_allclose(mine, local, rtol=1e-9, atol=1e-11)


def test_truth_of_all_and_any():
    x = spread(flow.tensor([[True, False], [True, True]]), PAIR, S(0))
    assert x.all(0).numpy().tolist() == [True, False]
    assert (x.all().item(), x.any().item()) == (False, True)


def test_batch_norm_moves_statistics_only():
    """Activations stay split in both directions; running statistics are those of all samples."""
    layer = flow.nn.BatchNorm2d(3).double()
    alike = flow.nn.BatchNorm2d(3).double().to_global(GRID, [B, B])
    local = made(4, 3, 16, 16).requires_grad_()
    x = spread(local.detach(), GRID, [S(0), S(2)]).requires_grad_()
    out = alike(x)
    assert out.sbp == (S(0), S(2))
    (out * out * out).sum().backward()
    assert x.grad.sbp == (S(0), S(2))
    expected = layer(local)
    (expected * expected * expected).sum().backward()
    for mine, theirs in (
        (out, expected),
        (x.grad, local.grad),
        (alike.weight.grad, layer.weight.grad),
        (alike.running_mean, layer.running_mean),
        (alike.running_var, layer.running_var),
    ):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("order", [1.0, 2.0, float("inf")])
def test_gradients_are_clipped_together(order):
    norms, clipped = [], []
    for place in (lambda x, sbp: x, lambda x, sbp: spread(x, PAIR, sbp)):
        leaves = [place(made(4, 6), S(0)), place(made(6), B), place(made(4, 2), S(1))]
        for leaf in leaves:
            leaf.requires_grad_()
        sum((leaf * leaf).sum() for leaf in leaves).backward()
        norms.append(flow.nn.utils.clip_grad_norm_(leaves, 0.5, order).item())
        clipped.append([leaf.grad.numpy() for leaf in leaves])
    assert norms[0] == pytest.approx(norms[1], rel=1e-12)
    for mine, local in zip(*reversed(clipped), strict=True):
        np.testing.assert_allclose(mine, local, rtol=1e-9)


def test_lamb_scales_by_the_whole_norm():
    found = []
    for place in (lambda x: x, lambda x: spread(x, PAIR, S(0))):
        leaf = place(made(4, 6)).requires_grad_()
        optimizer = flow.optim.LAMB([leaf], lr=0.1, weight_decay=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            (leaf * leaf).sum().backward()
            optimizer.step()
        found.append(leaf.numpy())
    np.testing.assert_allclose(*found, rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_mean_of_a_split_cross_entropy_makes_no_array_of_its_logits(weighted):
    logits = flow.randn(8, 100, placement=PAIR, sbp=S(0))
    labels = flow.randint(0, 100, (8,), placement=PAIR, sbp=S(0))
    weight = flow.rand(100, placement=PAIR, sbp=B) if weighted else None
    graph = graph_of(lambda *given: F.cross_entropy(*given, weight=weight))
    loss = graph(logits, labels)
    whole = [None if x is None else flow.tensor(x.numpy()) for x in (logits, labels, weight)]
    expected = F.cross_entropy(whole[0], whole[1], weight=whole[2])
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    program = only_step(graph).executable.program
    results = [spec for i in program.instructions for spec in i.operation.out_specs]
    assert all(spec.numel < 800 for spec in results)


@pytest.mark.parametrize(
    ("placement", "is_decomposed"), [(flow.placement("cpu", [0]), False), (PAIR, True)]
)
def test_only_what_several_devices_have_parts_of_is_decomposed(
    placement, is_decomposed, monkeypatch
):
    """A batch that is "split" over one device is whole there, and the primitive reads it once."""
    decompositions, make_call = [], global_call.DecomposedCall

    def decomposed_call(*arguments):
        decompositions.append(arguments)
        return make_call(*arguments)

    monkeypatch.setattr(global_call, "DecomposedCall", decomposed_call)
    x = spread(made(4, 3, 5, 7), placement, [S(0)])
    F.batch_norm(x, None, None, training=True).numpy()
    assert bool(decompositions) is is_decomposed


@pytest.mark.parametrize("shape", [(8, 4, 64, 9), (8, 4, 3), (8, 4), (7, 4, 5, 5), (8, 4, 0)])
@pytest.mark.parametrize(
    ("placement", "sbp"), [(PAIR, [S(0)]), (GRID, [S(0), S(0)]), (GRID, [S(0), B])]
)
def test_moments_of_a_batch_are_exchanged_once(placement, sbp, shape):
    """Devices have moments of equal parts, of which each moves means and variances together."""
    x = made(*shape) + 1000
    dims = (0, *range(2, len(shape)))
    graph = graph_of(lambda x: call(moments, x, dims=dims))
    statistics = graph(spread(x, placement, sbp))
    numbers = x.numpy()
    if numbers.size:
        for mine, expected in zip(statistics, (numbers.mean(dims), numbers.var(dims)), strict=True):
            np.testing.assert_allclose(mine.numpy().ravel(), expected, rtol=1e-9)
    program = only_step(graph).executable.program
    names = [i.operation.primitive.name for i in program.instructions]
    has_equal_parts = shape[0] % 2 == 0
    assert (names.count("moments") == 1) is has_equal_parts
    assert (names.count("boxing") == 1) is has_equal_parts


def test_moments_of_split_places_are_sums():
    x, dims = made(4, 3, 6, 2), (0, 2, 3)
    mean, variance = call(moments, spread(x, GRID, [S(0), S(2)]), dims=dims)
    np.testing.assert_allclose(mean.numpy().ravel(), x.numpy().mean(dims), rtol=1e-12)
    np.testing.assert_allclose(variance.numpy().ravel(), x.numpy().var(dims), rtol=1e-12)


def test_gradients_of_batch_norm_share_their_two_sums():
    """The sums that gradients of weight and bias are give the activations' gradient its means."""

    def gradients(x, weight, bias, factor):
        leaves = [tensor.detach().requires_grad_() for tensor in (x, weight, bias)]
        return flow.autograd.grad(batch_norm(*leaves), leaves, factor)

    local = (made(4, 3, 5, 7), made(3), made(3) + 1, made(4, 3, 5, 7) + 2)
    tensors = [spread(x, PAIR, S(0) if x.ndim > 1 else B) for x in local]
    graph = graph_of(gradients)
    for mine, expected in zip(graph(*tensors), gradients(*local), strict=True):
        np.testing.assert_allclose(mine.numpy(), expected.numpy(), rtol=1e-9, atol=1e-12)
    program = only_step(graph).executable.program
    names = [i.operation.primitive.name for i in program.instructions]
    assert (names.count("sum"), names.count("boxing")) == (2, 3)


@pytest.mark.parametrize("name", CALLS)
def test_half_precision_is_wide_between(name):
    """A product of single and half precision is rounded to half: neither may meet the other."""
    function, shapes = CALLS[name]

    def gradients(*tensors):
        leaves = [tensor.detach().requires_grad_() for tensor in tensors]
        sources = leaves[: 1 if function is weighted_cross_entropy else None]
        return flow.autograd.grad(function(*leaves).float().sum(), sources)

    tensors = [
        spread(made(*shape).half(), PAIR, B if n else S(0)) for n, shape in enumerate(shapes)
    ]
    graph = graph_of(gradients)
    graph(*tensors)
    for instruction in only_step(graph).executable.program.instructions:
        operation = instruction.operation
        if operation.primitive.name in ("add", "sub", "mul", "div"):
            specs = [spec for spec in operation.in_specs if hasattr(spec, "dtype")]
            assert len({spec.dtype for spec in specs if spec.dtype.is_floating_point}) < 2, (
                operation
            )


def test_gradients_of_batch_norm_in_half_precision_over_many_elements():
    """The share of one element, 7e-6 here, does not fit into float16."""

    def gradient(x, weight, factor):
        leaf = x.detach().requires_grad_()
        y = batch_norm(leaf, weight, None)
        return flow.autograd.grad(y, leaf, factor)[0]

    local = [made(64, 3, 48, 48), made(3), made(64, 3, 48, 48).flip(0) + 1]
    halves = [tensor.half() for tensor in local]
    expected = gradient(*[tensor.double() for tensor in halves]).numpy()
    tensors = [spread(x, PAIR, S(0) if x.ndim > 1 else B) for x in halves]
    error = abs(gradient(*tensors).numpy().astype(float) - expected).max()
    assert error < 6e-4 * abs(expected).max()
