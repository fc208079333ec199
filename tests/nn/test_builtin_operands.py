"""Refusals of builtins and OneFlow's own functions, where others promote or broadcast."""

from types import SimpleNamespace

import pytest

import oneflow as flow
from oneflow import _C


@pytest.fixture
def x():
    floats = flow.rand(2, 3)
    return SimpleNamespace(
        rows=flow.rand(10, 10, 5),
        labels=flow.zeros(10, 10).long(),
        floats=floats,
        doubles=floats.double(),
        line=flow.arange(4.0),
    )


SHAPES = {
    "label of other rows": lambda x: _C.sparse_softmax_cross_entropy(x.rows, x.labels[:, :5]),
    "label of another shape": lambda x: _C.sparse_softmax_cross_entropy(x.floats, x.labels[:1, :2]),
    "a class for each class": lambda x: _C.sparse_cross_entropy(x.rows, x.rows.long(), 5),
    "probabilities, other rows": lambda x: _C.sparse_cross_entropy(x.rows, x.labels[:, :5], 5),
    "depth": lambda x: _C.sparse_cross_entropy(x.rows, x.labels, 10),
    "probabilities without rows": lambda x: _C.softmax_cross_entropy(x.line, x.line),
    "rows that broadcast": lambda x: _C.softmax_cross_entropy(x.floats, x.floats[:1]),
    "gradient without rows": lambda x: _C.softmax_cross_entropy_grad(x.line[0], x.line, x.line),
    "gradient of other rows": lambda x: _C.softmax_cross_entropy_grad(
        x.line[:3], x.floats, x.floats
    ),
    "gradient of other classes": lambda x: _C.softmax_cross_entropy_grad(
        x.line[:2], x.floats, x.floats[:, :1]
    ),
    "parts of another width": lambda x: _C.split_like(
        x.floats, [x.floats[:1, :2], x.floats[:1]], 0
    ),
    "parts of other ranks": lambda x: _C.split_like(x.floats, [x.floats[:1], x.line[:1]], 0),
    "parts of a higher rank": lambda x: _C.split_like(x.line, [x.floats, x.floats], 0),
    "parts along no dimension": lambda x: _C.split_like(x.floats, [x.floats[:1], x.floats[:1]], 3),
    "sum of another size": lambda x: _C.reduce_sum_like(x.line, x.line[:3], []),
    "a slice from the end": lambda x: _C.slice(x.line, [-1], [1], [1]),
    "a slice to before the end": lambda x: _C.slice(x.line, [1], [-1], [1]),
    "a slice backwards": lambda x: _C.slice(x.line, [2], [1], [1]),
    "a slice without step": lambda x: _C.slice(x.line, [1], [2], [0]),
    "a write from the end": lambda x: _C.slice_update(x.line, x.line[:1], [-2], [3], [1]),
    "a write of several dimensions": lambda x: _C.slice_update(
        x.line, x.line, [1] * 3, [1] * 3, [1] * 3
    ),
    "a write that broadcasts": lambda x: _C.slice_update(x.line, x.line[:1], [1], [3], [1]),
    "a write of another rank": lambda x: _C.slice_update(x.line, x.line[None, :2], [1], [3], [1]),
    "a matrix as bias": lambda x: _C.fused_mlp(
        x.floats, [flow.ones(3, 3)], [flow.ones(2, 3)], False
    ),
    "targets of floats": lambda x: flow.in_top_k(flow.ones(2), x.floats, 1),
    "axes on several placements": lambda x: flow.meshgrid(
        x.line, x.line.to_global(flow.placement("cpu", [0]), flow.sbp.broadcast)
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_that_do_not_fit_are_refused(name, x):
    with pytest.raises(RuntimeError):
        SHAPES[name](x)


LISTS = {
    "no parts": (lambda x: _C.split_like(x.line, [], 0), "`like` 0"),
    "no products": (lambda x: _C.grouped_matmul([], []), "`xs` 0, `weights` 0"),
    "one weight for two": (lambda x: _C.grouped_matmul([x.line] * 2, [x.floats]), "`weights` 1"),
    "no biases": (lambda x: _C.grouped_matmul_bias([x.line], [x.floats], []), "`biases` 0"),
    "no layers": (lambda x: _C.fused_mlp(x.floats, [], [], True), "`weights` 0"),
    "no terms": (lambda x: _C.fused_weighted_sum([], []), "`in_` 0"),
    "no features": (lambda x: _C.fused_dot_feature_interaction([]), "`features` 0"),
    "one state": (lambda x: _C.lstm_cell(x.floats, [x.floats], x.floats, x.floats), "`hx`.* 1"),
    "no new weights": (
        lambda x: _C.multi_tensor_yolov5_weight_update([x.line], [], 0.9),
        "`model_update` 0",
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_without_elements_or_partners_are_refused(name, x):
    call, message = LISTS[name]
    with pytest.raises(RuntimeError, match=message):
        call(x)


def test_averages_of_too_few_new_weights_stay(x):
    with pytest.raises(RuntimeError, match="same number"):
        _C.multi_tensor_yolov5_weight_update([x.line, x.line], [flow.zeros(4)], 0.5)
    assert x.line.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("axis", [-3, 2, 5])
def test_dimensions_that_are_none_are_refused(axis, x):
    index = flow.tensor([0])
    with pytest.raises(IndexError, match="Dimension out of range"):
        _C.gather(x.floats, index, axis)
    with pytest.raises(IndexError, match="Dimension out of range"):
        _C.unsorted_segment_sum(x.floats, index, axis, 1)


@pytest.mark.parametrize("dtype", [flow.int8, flow.int32, flow.int64, flow.float16])
def test_a_sum_like_another_tensor_has_its_dtype(dtype):
    found = _C.reduce_sum_like(flow.ones(2, 3, dtype=dtype), flow.ones(1, 3, dtype=dtype), [0])
    assert found.dtype is dtype
    assert found.tolist() == [[2, 2, 2]]


DTYPES = {
    "logits and label": lambda x: _C.softmax_cross_entropy(x.floats, x.doubles),
    "gradient": lambda x: _C.softmax_cross_entropy_grad(x.line[:2], x.doubles, x.doubles),
    "label of a gradient": lambda x: _C.softmax_cross_entropy_grad(x.line[:2], x.doubles, x.floats),
    "labels as floats": lambda x: _C.sparse_softmax_cross_entropy(x.floats, flow.ones(2)),
    "labels of probabilities as floats": lambda x: _C.sparse_cross_entropy(
        x.floats, flow.ones(2), 3
    ),
    "sum of another dtype": lambda x: _C.reduce_sum_like(x.line.long(), x.line, [0]),
    "a float into integers": lambda x: _C.slice_update(x.labels[0], x.line[1:2], [1], [2], [1]),
    "places as floats": lambda x: flow.batch_gather(x.line, flow.ones(2)),
}


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_that_differ_are_refused(name, x):
    with pytest.raises(TypeError):
        DTYPES[name](x)


FUSED = {
    "fused_get_boundding_boxes_coord": 8,
    "fused_get_intersection_area": 8,
    "fused_get_iou": 5,
    "fused_get_convex_diagonal_squared": 8,
    "fused_get_center_dist": 8,
    "fused_get_ciou_diagonal_angle": 4,
    "fused_get_ciou_result": 4,
    "fused_fast_gelu_mul": 2,
    "tanh_grad": 2,
    "cosh_grad": 2,
    "tan_grad": 2,
}
FURTHER = {
    "fused_get_iou": [1e-7],
    "fused_get_convex_diagonal_squared": [1e-7],
    "fused_get_ciou_diagonal_angle": [1e-7],
    "fused_get_ciou_result": [1e-7],
}


@pytest.mark.parametrize("name", [*FUSED, "fused_weighted_sum"])
def test_operands_of_fused_functions_are_alike(name, x):
    count = FUSED.get(name, 3)
    further = FURTHER.get(name, ())
    builtin = getattr(_C, name)

    def call(*operands):
        if name == "fused_weighted_sum":
            return builtin(operands, [1.0] * count)
        return builtin(*operands, *further)

    call(*[x.floats] * count)
    for position in range(count):
        for other, error in ((x.floats[:1], RuntimeError), (x.doubles, TypeError)):
            operands = [x.floats] * count
            operands[position] = other
            with pytest.raises(error, match=f"`{name}`: all operands must have the same"):
                call(*operands)


def test_parts_may_lack_the_last_dimensions(x):
    parts = _C.split_like(x.floats, [x.line[:1], x.line[:1]], -1)
    assert [part.tolist() for part in parts] == [[row] for row in x.floats.tolist()]


def test_mixed_precision_casts_operands_of_two_dtypes(x):
    with flow.autocast("cpu"):
        loss = _C.softmax_cross_entropy(x.floats.bfloat16(), x.floats)
    assert loss.dtype is flow.float32


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "cosh", "tan"])
def test_gradients_of_elementwise_functions(name, x):
    operand = x.floats.requires_grad_()
    result = getattr(flow, name)(operand)
    dy = flow.rand(2, 3)
    result.backward(dy)
    given = result.detach() if name in ("tanh", "sigmoid") else operand.detach()
    assert flow.allclose(getattr(_C, f"{name}_grad")(given, dy), operand.grad)


def test_further_arguments_of_builtins(x):
    weight, bias = flow.rand(4, 3), flow.rand(4)
    expected = 2 * (x.floats @ weight.T) + bias + 3 * bias
    found = _C.fused_matmul_bias(x.floats, weight, bias, bias, alpha=2.0, beta=3.0)
    assert flow.allclose(found, expected)
    for copied in (_C.copy(x.line, flow.device("cpu")), _C.copy(x.line, device="cpu")):
        assert flow.equal(copied, x.line)
    assert _C.depend(x.line, depends=[x.floats]) is x.line
    positions, count = _C.argwhere(x.line > 1)
    assert (positions.tolist(), count.tolist()) == ([[2], [3]], [2])
    assert positions.dtype is flow.int32
