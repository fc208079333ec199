"""Upstream's builtins, `oneflow._C`: each that is no alias against its formula in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow import _C
from oneflow.nn import functional as F
from tests.in_place import methods_without_overrides

RNG = np.random.default_rng(3)


def array(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def softmax(scores):
    return torch.softmax(torch.tensor(scores), -1).numpy()


def close(ours, expected):
    np.testing.assert_allclose(ours.numpy(), expected, rtol=1e-5, atol=1e-5)


def test_products():
    x, w, b = array(4, 3), array(5, 3), array(5)
    tensors = [flow.tensor(operand) for operand in (x, w, b)]
    close(_C.fused_matmul_bias(*tensors), x @ w.T + b)
    close(_C.fused_matmul_bias(*tensors, tensors[2]), x @ w.T + 2 * b)
    close(_C.grouped_matmul([tensors[0]] * 2, [tensors[1]] * 2)[1], x @ w.T)
    close(_C.grouped_matmul_bias([tensors[0]], [tensors[1]], [tensors[2]])[0], x @ w.T + b)
    w2, b2 = array(2, 5), array(2)
    layers = [tensors[1], flow.tensor(w2)], [tensors[2], flow.tensor(b2)]
    hidden = np.maximum(x @ w.T + b, 0)
    close(_C.fused_mlp(tensors[0], *layers, True), hidden @ w2.T + b2)
    close(_C.fused_mlp(tensors[0], *layers, False), np.maximum(hidden @ w2.T + b2, 0))
    dropped = _C.fused_matmul_bias_add_relu_dropout(tensors[0], *layers, False, [0.0, 1.0])
    assert not dropped.numpy().any()
    with pytest.raises(RuntimeError, match="`biases` 1"):
        _C.fused_mlp(tensors[0], layers[0], layers[1][:1], True)
    close(_C.batch_matmul(flow.tensor(x[None]), flow.tensor(x.T[None])), (x @ x.T)[None])
    close(_C.fused_weighted_sum([tensors[0], tensors[0]], [2.0, 0.5], 2.0), 5 * x)


@pytest.mark.parametrize("activation", ["none", "sigmoid", "relu", "gelu", "fast_gelu", "silu"])
def test_gated_linear_units(activation):
    x, w, b, v, c = array(4, 3), array(5, 3), array(5), array(5, 3), array(5)
    gates = {
        "none": lambda g: g,
        "fast_gelu": lambda g: torch.nn.functional.gelu(g, approximate="tanh"),
    }
    act = gates.get(activation) or getattr(torch.nn.functional, activation)
    expected = (x @ w.T + b) * act(torch.tensor(x @ v.T + c)).numpy()
    separate = _C.fused_glu(*[flow.tensor(operand) for operand in (x, w, b, v, c)], activation)
    close(separate, expected)
    joined = [flow.tensor(np.concatenate(pair)) for pair in ((w, v), (b, c))]
    close(_C.fused_glu(flow.tensor(x), *joined, activation=activation), expected)


def test_an_unknown_gate_is_refused():
    with pytest.raises(RuntimeError, match="activation"):
        _C.fused_glu(flow.ones(1, 1), flow.ones(2, 1), activation="softmax")


@pytest.mark.parametrize("self_interaction", [False, True])
def test_interactions_of_features(self_interaction):
    first, second, concat = array(2, 1, 4), array(2, 3, 4), array(2, 5)
    both = np.concatenate([first, second], 1)
    pairs = both @ both.transpose(0, 2, 1)
    lower = np.tril_indices(4, 0 if self_interaction else -1)
    expected = np.concatenate([concat, pairs[:, lower[0], lower[1]], np.zeros((2, 2))], 1)
    given = [flow.tensor(first), flow.tensor(second)]
    result = _C.fused_dot_feature_interaction(given, flow.tensor(concat), self_interaction, 2)
    close(result, expected)
    total = sum(both[:, i] * both[:, j] for i in range(4) for j in range(i))
    summed = _C.fused_dot_feature_interaction(given, pooling="sum")
    close(summed, total.sum(1, keepdims=True))
    assert summed.shape == (2, 1)
    for pooling in ("max", "sum"):
        with pytest.raises(RuntimeError, match="`pooling`"):
            _C.fused_dot_feature_interaction(given, flow.tensor(concat), pooling=pooling)


def test_crossed_features():
    x, first, bias = array(4, 3), array(4, 3), array(3)
    vector, matrix = array(1, 3), array(3, 3)

    def crossed(weight, mode):
        given = [flow.tensor(operand) for operand in (x, weight, first, bias)]
        return _C.fused_cross_feature_interaction(*given, mode)

    close(crossed(vector, "vector"), first * (x @ vector.T) + bias + x)
    close(crossed(matrix, "matrix"), first * (x @ matrix.T + bias) + x)
    with pytest.raises(RuntimeError, match="interaction_mode"):
        crossed(vector, "scalar")


def test_self_attention():
    hidden = array(5, 2, 3 * 3 * 4)
    heads = hidden.reshape(5, 2, 3, 3, 4)
    query, key, value = (heads[:, :, :, i].transpose(1, 2, 0, 3) for i in range(3))
    scores, values = _C.fused_self_attention_query_mul_key_and_value(flow.tensor(hidden), 4, 0.5)
    close(scores, 0.5 * query @ key.transpose(0, 1, 3, 2))
    close(values, value)


def test_masked_softmax_with_bias():
    x, bias, mask = array(2, 3), array(3), np.array([[True, True, False], [True] * 3])
    logits = np.where(mask, (x + bias) * 2, -5)
    expected = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    given = [flow.tensor(operand) for operand in (x, bias, mask)]
    options = {"fill_value": -5.0, "scale": 2.0}
    dropped, softmax = _C.fused_bias_add_scale_mask_softmax_dropout(*given, p=0.0, **options)
    close(softmax, expected)
    close(dropped, expected)
    kept = _C.fused_bias_add_scale_mask_softmax_dropout(*given, p=1.0, training=False, **options)
    close(kept[0], expected)


@pytest.mark.parametrize("axis", [1, -1])
def test_normalization(axis):
    x, gamma, beta = array(4, 3, 5), array(3), array(3)
    if axis == -1:
        x = np.ascontiguousarray(x.transpose(0, 2, 1))
    mean, variance = flow.zeros(3), flow.ones(3)
    given = [flow.tensor(operand) for operand in (gamma, beta)]
    ours = _C.normalization(flow.tensor(x), mean, variance, *given, axis, 1e-5, 0.8, True)
    first = torch.tensor(x).movedim(axis, 1)
    running = torch.zeros(3), torch.ones(3)
    weights = [torch.tensor(operand) for operand in (gamma, beta)]
    theirs = torch.nn.functional.batch_norm(first, *running, *weights, True, 0.2, 1e-5)
    close(ours, theirs.movedim(1, axis).numpy())
    close(mean, running[0].numpy())
    close(variance, running[1].numpy())
    added = _C.normalization_add_relu(
        flow.tensor(x), flow.tensor(x), mean, variance, *given, axis, 1e-5, 0.8, False
    )
    plain = _C.normalization(flow.tensor(x), mean, variance, *given, axis, 1e-5, 0.8, False)
    close(added, np.maximum(plain.numpy() + x, 0))


def test_layer_normalization_with_other_axes_of_parameters():
    x, gamma, beta = array(2, 3, 4), array(4), array(4)
    plain = (x - x.mean((1, 2), keepdims=True)) / np.sqrt(x.var((1, 2), keepdims=True) + 1e-5)
    given = [flow.tensor(operand) for operand in (x, gamma, beta)]
    close(_C.layer_norm_affine(*given, 1, 2, 1e-5), plain * gamma + beta)
    close(_C.layer_norm(given[0], 1, 1, 1e-5), plain)
    rows = (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 1e-5)
    close(_C.layer_norm_affine(*given, 2, 2, 1e-5), rows * gamma + beta)


def test_normalization_of_sums():
    x, gamma, beta, skip = array(2, 4), array(4), array(4), array(2, 4)
    total = x + beta + 0.5 * skip
    given = {"bias": flow.tensor(beta), "skip": flow.tensor(skip), "alpha": 0.5, "epsilon": 1e-3}
    root = total / np.sqrt((total**2).mean(1, keepdims=True) + 1e-3)
    close(_C.skip_rms_norm(flow.tensor(x), weight=flow.tensor(gamma), **given), root * gamma)
    centred = total - total.mean(1, keepdims=True)
    rows = centred / np.sqrt(total.var(1, keepdims=True) + 1e-3)
    weights = {"gamma": flow.tensor(gamma), "beta": flow.tensor(beta)}
    close(_C.skip_layer_norm(flow.tensor(x), **weights, **given), rows * gamma + beta)
    close(_C.skip_layer_norm(flow.tensor(x)), F.layer_norm(flow.tensor(x), (4,)).numpy())
    close(_C.skip_rms_norm(flow.tensor(x)), F.rms_norm(flow.tensor(x), (4,), eps=1e-5).numpy())


@pytest.mark.parametrize("inplace", [False, True])
def test_softmax_of_scores_mask_and_bias(inplace):
    x, mask, bias = array(2, 3, 4), array(2, 1, 4), array(3, 4)
    given = flow.tensor(x), flow.tensor(mask)
    close(_C.fused_scale_mask_bias_softmax(*given, scale=2.0), softmax(x * 2 + mask))
    found = _C.fused_scale_mask_bias_softmax(*given, flow.tensor(bias), 0.5, inplace)
    close(found, softmax(x / 2 + mask + bias))
    close(given[0], found.numpy() if inplace else x)


def test_heads_of_three_tensors():
    x, y, z = array(3, 2, 8), array(3, 2, 8), array(3, 2, 8)
    found = _C.fused_codegeex_qkv_reshape(*[flow.tensor(operand) for operand in (x, y, z)], 4)
    for ours, expected in zip(found, (x, y, z), strict=True):
        close(ours, expected.reshape(3, 2, 4, 2))


def test_pooling_returns_indices():
    x = flow.tensor(array(1, 2, 6, 6))
    result, indices = _C.max_pool2d(x, 2)
    expected = F.max_pool2d(x, 2, return_indices=True)
    assert flow.equal(result, expected[0])
    assert flow.equal(indices, expected[1])
    assert flow.equal(_C.max_pool2d(x, 2, return_indices=False), result)
    result, indices = _C.adaptive_max_pool2d(x, [2, 2])
    assert flow.equal(result, F.adaptive_max_pool2d(x, 2))
    assert indices.shape == result.shape


@pytest.mark.parametrize(
    ("name", "mode", "dimensions"),
    [
        ("upsample_linear_1d", "linear", 1),
        ("upsample_nearest_1d", "nearest", 1),
        ("upsample_bilinear_2d", "bilinear", 2),
        ("upsample_bicubic_2d", "bicubic", 2),
        ("upsample_nearest_2d", "nearest", 2),
        ("upsample_trilinear_3d", "trilinear", 3),
        ("upsample_nearest_3d", "nearest", 3),
    ],
)
def test_resizing(name, mode, dimensions):
    x = array(1, 2, *range(3, 3 + dimensions))
    resize, ours = getattr(_C, name), flow.tensor(x)
    corners = {} if mode == "nearest" else {"align_corners": True}
    by_factor = torch.nn.functional.interpolate(
        torch.tensor(x), scale_factor=(2.0,) * dimensions, mode=mode, **corners
    )
    close(resize(ours, *[2.0] * dimensions, **corners), by_factor.numpy())
    size = list(range(5, 5 + dimensions))
    to_size = torch.nn.functional.interpolate(torch.tensor(x), size, mode=mode, **corners)
    close(resize(ours, output_size=size, **corners), to_size.numpy())


def test_losses_of_rows():
    logits, labels = array(4, 3), np.array([0, 2, 1, 1])
    log_probabilities = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    expected = -log_probabilities[np.arange(4), labels]
    ours, target = flow.tensor(logits), flow.tensor(labels)
    close(_C.sparse_softmax_cross_entropy(ours, target), expected)
    close(_C.sparse_softmax_cross_entropy(ours, target.reshape(4, 1)), expected[:, None])
    close(_C.sparse_cross_entropy(ours.softmax(-1), target, 3), expected)
    close(_C.softmax_cross_entropy(ours, F.one_hot(target, 3).float()), expected)


@pytest.mark.parametrize("name", ["rnn_tanh_cell", "rnn_relu_cell", "gru_cell", "lstm_cell"])
def test_cells(name):
    kinds = {"rnn_tanh_cell": 1, "rnn_relu_cell": 1, "gru_cell": 3, "lstm_cell": 4}
    rows = 3 * kinds[name]
    given = [array(2, 4), array(2, 3), array(rows, 4), array(rows, 3), array(rows), array(rows)]
    theirs = [torch.tensor(operand) for operand in given]
    ours = [flow.tensor(operand) for operand in given]
    if name == "lstm_cell":
        theirs[1], ours[1] = [theirs[1], theirs[1]], [ours[1], ours[1]]
    got, want = getattr(_C, name)(*ours), getattr(torch, name)(*theirs)
    pairs = zip(got, want, strict=True) if name == "lstm_cell" else [(got, want)]
    for mine, yours in pairs:
        close(mine, yours.numpy())


def test_positions():
    x = array(4, 3)
    ours = flow.tensor(x)
    index = np.array([[3, 0], [1, 1]])
    close(_C.gather(ours, flow.tensor(index), 0), x[index])
    close(_C.gather(ours, flow.tensor(index // 2), 1), x[:, index // 2])
    close(_C.slice(ours, [1, 0], [4, 3], [2, 2]), x[1:4:2, 0:3:2])
    with pytest.raises(RuntimeError, match="one number per dimension"):
        _C.slice(ours, [1], [4, 3], [2])
    target = flow.zeros(4, 3)
    result = _C.slice_update(target, flow.ones(2, 3), [0, 0], [4, 3], [2, 1], inplace=True)
    assert result is target
    assert target.sum(1).tolist() == [3, 0, 3, 0]
    ids = np.array([2, 0, 2, 1])
    sums = np.zeros((3, 3), np.float32)
    np.add.at(sums, ids, x)
    close(_C.unsorted_segment_sum(ours, flow.tensor(ids), 0, 3), sums)
    assert _C.broadcast_dim_like(flow.ones(2, 1), flow.ones(4, 3), dim=1).shape == (2, 3)
    with pytest.raises(RuntimeError, match="expand"):
        _C.broadcast_dim_like(flow.ones(2), flow.ones(3))
    close(_C.reduce_sum_like(ours, flow.ones(1, 3), [0]), x.sum(0, keepdims=True))
    assert flow.equal(_C.arg_sort(ours, "ASCENDING"), ours.argsort(-1))
    with pytest.raises(RuntimeError, match="direction"):
        _C.arg_sort(ours, "UP")


def test_complete_iou_of_boxes():
    box = np.sort(RNG.uniform(0, 4, size=(2, 6, 2, 2)), axis=-1).astype(np.float32)
    (x1, x2), (y1, y2) = (box[0, :, axis].T for axis in (0, 1))
    (u1, u2), (v1, v2) = (box[1, :, axis].T for axis in (0, 1))
    sides = [flow.tensor(operand.copy()) for operand in (x1, x2, u1, u2, y1, y2, v1, v2)]
    inter = np.clip(np.minimum(x2, u2) - np.maximum(x1, u1), 0, None)
    inter = inter * np.clip(np.minimum(y2, v2) - np.maximum(y1, v1), 0, None)
    close(_C.fused_get_intersection_area(*sides), inter)
    sizes = [flow.tensor(operand) for operand in (x2 - x1, y2 - y1, u2 - u1, v2 - v1)]
    union = (x2 - x1) * (y2 - y1) + (u2 - u1) * (v2 - v1) - inter
    iou = inter / (union + 1e-7)
    close(_C.fused_get_iou(*sizes, flow.tensor(inter), 1e-7), iou)
    width = np.maximum(x2, u2) - np.minimum(x1, u1)
    height = np.maximum(y2, v2) - np.minimum(y1, v1)
    around = width**2 + height**2 + 1e-7
    close(_C.fused_get_convex_diagonal_squared(*sides, 1e-7), around)
    distance = ((u1 + u2 - x1 - x2) ** 2 + (v1 + v2 - y1 - y2) ** 2) / 4
    close(_C.fused_get_center_dist(*sides), distance)
    angles = np.arctan((u2 - u1) / (v2 - v1)) - np.arctan((x2 - x1) / (y2 - y1))
    proportions = 4 / np.pi**2 * angles**2
    got = _C.fused_get_ciou_diagonal_angle(*sizes, 0.0)
    np.testing.assert_allclose(got.numpy(), proportions, rtol=1e-3, atol=1e-6)
    parts = [flow.tensor(operand) for operand in (proportions, iou, distance, around)]
    result, weight = _C.fused_get_ciou_result(*parts, 1e-7)
    alpha = proportions / (proportions - iou + 1 + 1e-7)
    close(weight, alpha)
    close(result, iou - (distance / around + proportions * alpha))


def test_gradient_of_cross_entropy():
    logits = flow.tensor(array(3, 4), requires_grad=True)
    label = flow.softmax(flow.tensor(array(3, 4)), -1)
    dy = flow.tensor(array(3))
    _C.softmax_cross_entropy(logits, label).backward(dy)
    ours = _C.softmax_cross_entropy_grad(dy, label, flow.softmax(logits.detach(), -1))
    close(ours, logits.grad.numpy())


def test_sides_of_boxes():
    first, second = [[flow.tensor(array(5)) for _ in range(4)] for _ in range(2)]
    sides = _C.fused_get_boundding_boxes_coord(*first, *second)
    for place, (x, y, w, h) in enumerate((first, second)):
        expected = (x - w / 2, x + w / 2, y - h / 2, y + h / 2)
        for ours, theirs in zip(sides[4 * place :], expected, strict=False):
            close(ours, theirs.numpy())


def test_constants_and_writes():
    options = {"dtype": flow.int32}
    for number in (3, flow.tensor(3.0)):
        assert _C.constant([2], number, **options).tolist() == [3, 3]
        made = _C.global_tensor_constant(
            [2], number, placement=flow.placement("cpu", [0]), sbp=[flow.sbp.broadcast], **options
        )
        assert made.is_global
        assert made.tolist() == [3, 3]
    x = flow.ones(2, 3)
    assert _C.eye_(x) is x
    assert x.tolist() == [[1, 0, 0], [0, 1, 0]]
    table = flow.full((3, 2), 3.0)
    assert _C.embedding_renorm_(table, flow.tensor([1]), 1.0, 2.0) is table
    close(table.norm(dim=1), np.array([18**0.5, 1, 18**0.5], np.float32))


@pytest.mark.parametrize("causal", [False, True])
def test_attention_in_slices_of_one_product(causal):
    x = array(2, 5, 24)
    query, key, value = (x[..., at : at + 8].reshape(2, 5, 2, 4) for at in (0, 8, 16))
    parts = [torch.tensor(operand).transpose(1, 2) for operand in (query, key, value)]
    expected = torch.nn.functional.scaled_dot_product_attention(*parts, is_causal=causal)
    whole = flow.tensor(x)
    slices = (0, 8, 8, 16, 16, 24)
    got = _C.fused_multi_head_attention_inference(whole, whole, whole, 2, causal, *slices)
    close(got, expected.transpose(1, 2).flatten(2).numpy())
    with pytest.raises(RuntimeError, match="`query` must be a multiple of 5"):
        _C.fused_multi_head_attention_inference(whole, whole, whole, 5)


def test_root_mean_squares():
    x, weight = array(2, 3, 4), array(3, 4)
    expected = x / np.sqrt((x**2).mean((1, 2), keepdims=True) + 1e-6)
    close(_C.rms_norm(flow.tensor(x), flow.tensor(weight)), expected * weight)
    close(_C.rms_norm(flow.tensor(x), normalized_shape=[3, 4]), expected)


def test_deformable_convolution_of_single_numbers():
    shapes = ((1, 2, 5, 6), (3, 2, 2, 3), (1, 12, 4, 2))
    x, weight, offset = (flow.tensor(array(*shape)) for shape in shapes)
    mask = flow.rand(1, 6, 4, 2)
    expected = F.deform_conv2d(x, offset, weight, None, (1, 2), 0, 1, mask)
    got = _C.deform_conv2d(x, weight, offset, mask, None, 1, 2)
    close(got, expected.numpy())
    without = _C.deform_conv2d(x, weight, offset, mask, None, 1, 2, use_mask=False)
    close(without, F.deform_conv2d(x, offset, weight, None, (1, 2)).numpy())


def test_boxes_without_scores():
    boxes = flow.tensor([[0.0, 0, 1, 1], [0, 0, 1, 1.1], [2, 2, 3, 3], [2, 2, 3, 3.2]])
    assert _C.nms(boxes, 0.5).tolist() == [1, 0, 1, 0]
    assert _C.nms(boxes, 0.5, 1).tolist() == [1, 0, 0, 0]


@methods_without_overrides()
def test_aliases_are_the_functions_themselves():
    assert _C.matmul is flow.matmul
    assert _C.relu is F.relu
    assert _C.one_hot is F.one_hot
    assert _C.reduce_sum is flow.sum
    assert _C.send is flow.comm.send
    assert _C.tensor_to_tensor_buffer is flow.tensor_to_tensor_buffer
    assert _C.masked_fill_ is flow.Tensor.masked_fill_
    x = flow.ones(2, 3).t()
    assert x.contiguous_() is x
    assert x.is_contiguous()
    assert _C.contiguous_(x).tolist() == [[1, 1]] * 3


SIX = np.array([[0.5, -1.0, 2.0], [1.5, 2.5, -0.5]], np.float32)
CPU, BROADCAST = flow.placement("cpu", [0]), flow.sbp.broadcast
# Calls with upstream's names, or order, of arguments, each with the same in other words.
CALLS_OF_UPSTREAM = {
    "expand": (
        lambda x: _C.expand(x=x, shape=(2, 2, 3)),
        lambda x: x.expand(2, 2, 3),
    ),
    "contiguous_": (lambda x: _C.contiguous_(input=x.T), lambda x: x.T.contiguous_()),
    "fill_": (lambda x: _C.fill_(in_=x, value=3.0), lambda x: x.fill_(3.0)),
    "pin_memory": (lambda x: _C.pin_memory(input=x), lambda x: x),
    "bernoulli_": (lambda x: _C.bernoulli_(input=x, p=1.0), flow.ones_like),
    "exponential_": (lambda x: _C.exponential_(x=x, lambd=1e30) // 1, flow.zeros_like),
    "uniform_": (lambda x: _C.uniform_(x=x, from_=2.0, to=2.0), lambda x: x * 0 + 2),
    "unfold_tensor": (
        lambda x: _C.unfold_tensor(x=x, dimension=1, size=2, step=1),
        lambda x: x.unfold(1, 2, 1),
    ),
    "global_arange": (
        lambda x: _C.global_arange(1, 6, step=2, placement=CPU, sbp=[BROADCAST]),
        lambda x: flow.tensor([1, 3, 5]),
    ),
    "to_global": (
        lambda x: _C.to_global(x.to_global(CPU, BROADCAST), CPU, [BROADCAST], [], True, False),
        lambda x: x,
    ),
    "to_local": (lambda x: _C.to_local(x.to_global(CPU, BROADCAST), False), lambda x: x),
    "linalg_cross": (
        lambda x: _C.linalg_cross(x.T, x.T.exp()),
        lambda x: flow.linalg.cross(x.T, x.T.exp(), dim=0),
    ),
    "margin_ranking_loss": (
        lambda x: _C.margin_ranking_loss(
            input_1=x, input_2=-x, target=x, margin=0.1, reduction="sum"
        ),
        lambda x: F.margin_ranking_loss(x, -x, x, 0.1, "sum"),
    ),
    "norm": (lambda x: _C.norm(x, ord=1), lambda x: x.abs().sum()),
    "group_norm": (
        lambda x: _C.group_norm(
            x[None], num_groups=3, data_format="channels_last", activation="silu"
        ),
        lambda x: F.silu(F.group_norm(x.T[None], 3)).mT,
    ),
    "unique with a dtype": (
        lambda x: _C.unique(x.int(), True, flow.int32),
        lambda x: x.int().unique(),
    ),
    "unique with inverse and dtype": (
        lambda x: _C.unique(x.int(), True, True, False, flow.int32)[1],
        lambda x: x.int().unique(return_inverse=True, dtype=flow.int32)[1],
    ),
}


@pytest.mark.parametrize("call", CALLS_OF_UPSTREAM)
def test_arguments_of_upstream(call):
    given, otherwise = CALLS_OF_UPSTREAM[call]
    result, expected = (function(flow.tensor(SIX)) for function in (given, otherwise))
    assert result.dtype is expected.dtype
    np.testing.assert_allclose(result.numpy(), expected.numpy(), rtol=1e-6)


def test_writes_of_upstream():
    x, rows = flow.zeros(3), flow.tensor([[1]])
    assert _C.tensor_scatter_nd_update(x, rows, flow.ones(1), inplace=True) is x
    assert x.tolist() == [0, 1, 0]
    assert _C.trunc_divide(x.mul_(-7), 2, inplace=True) is x
    assert x.tolist() == [0, -3, 0]


@pytest.mark.parametrize("options", [{"data_format": "NHWC"}, {"activation": "relu"}], ids=str)
def test_other_layouts_and_activations_of_groups_are_refused(options):
    with pytest.raises(ValueError, match="group_norm"):
        _C.group_norm(flow.ones(1, 2), **options)


def test_moving_averages_of_several_tensors():
    averages, new = ([array(3), array(2, 2)] for _ in range(2))
    moved = [flow.tensor(average) for average in averages]
    moved[0].requires_grad_()
    _C.multi_tensor_yolov5_weight_update(moved, [flow.tensor(operand) for operand in new], 0.9)
    for average, before, after in zip(moved, averages, new, strict=True):
        close(average.detach(), 0.9 * before + 0.1 * after)
    with pytest.raises(RuntimeError, match="same number"):
        _C.multi_tensor_yolov5_weight_update(moved, [], 0.9)
