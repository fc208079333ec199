"""The tensor functions of OneFlow beyond PyTorch's."""

import importlib
import inspect
import pickle

import numpy as np
import pytest

import oneflow as flow
import oneflow.nn.functional as F
from oneflow.functional.registry import FUNCTIONS, function


def kept_by_definition(boxes, scores, threshold):
    kept = []
    for i in np.argsort(-scores, kind="stable"):
        ok = True
        for j in kept:
            width = min(boxes[i, 2], boxes[j, 2]) - max(boxes[i, 0], boxes[j, 0])
            height = min(boxes[i, 3], boxes[j, 3]) - max(boxes[i, 1], boxes[j, 1])
            common = max(width, 0) * max(height, 0)
            areas = [(b[2] - b[0]) * (b[3] - b[1]) for b in (boxes[i], boxes[j])]
            ok = ok and common / (sum(areas) - common) <= threshold
        if ok:
            kept.append(int(i))
    return kept


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9])
def test_nms(threshold):
    random = np.random.default_rng(3)
    corners = random.uniform(0, 10, (30, 2))
    boxes = np.concatenate([corners, corners + random.uniform(2, 6, (30, 2))], 1)
    scores = random.uniform(size=30)
    found = flow.tensor(boxes).nms(flow.tensor(scores), threshold)
    assert found.dtype is flow.int64
    assert found.tolist() == kept_by_definition(boxes, scores, threshold)


def test_nms_of_nothing_and_of_wrong_shapes():
    assert flow.nms(flow.zeros(0, 4), flow.zeros(0), 0.5).tolist() == []
    with pytest.raises(RuntimeError, match="`boxes`"):
        flow.nms(flow.zeros(2, 3), flow.zeros(2), 0.5)
    with pytest.raises(RuntimeError, match="`scores`"):
        flow.nms(flow.zeros(2, 4), flow.zeros(3), 0.5)


def test_in_top_k():
    predictions = flow.tensor([[0.8, 0.6, 0.3], [0.1, 0.6, 0.6], [0.1, float("nan"), 0.2]])
    for targets, k, wanted in (
        ([0, 2, 2], 1, [True, True, True]),
        ([1, 0, 0], 1, [False, False, False]),
        ([1, 0, 1], 3, [True, True, False]),
    ):
        targets = flow.tensor(targets, dtype=flow.int32)
        assert targets.in_top_k(predictions, k).tolist() == wanted
    with pytest.raises(RuntimeError, match="in_top_k"):
        flow.in_top_k(flow.tensor([0]), predictions, 1)


@pytest.mark.parametrize("name", ["xavier", "kaiming"])
def test_initialisation_methods(name):
    for kind in ("uniform", "normal"):
        flow.manual_seed(0)
        method = getattr(flow.empty(3, 5), f"{name}_{kind}_")()
        flow.manual_seed(0)
        function = getattr(flow.nn.init, f"{name}_{kind}_")(flow.empty(3, 5))
        assert method.tolist() == function.tolist()


def test_fused_operators_are_their_parts():
    x = flow.tensor(np.random.default_rng(1).normal(size=(2, 3, 3)), requires_grad=True)
    mask = flow.tensor([[True, False, True]])
    below = flow.ones(3, 3).tril(1).bool()
    bias = flow.tensor([1.0, -1.0, 0.5], dtype=flow.float64)
    column = bias.reshape(3, 1)
    masked = flow.softmax(flow.where(mask, x * 2, -9.0), -1)
    lower = flow.where(below, x * 0.5, -7.0)
    pairs = [
        (flow._C.fused_bias_add_gelu(x, bias, axis=1), flow.nn.functional.gelu(x + column)),
        (flow._C.fused_bias_add_dropout(x, bias, p=0.0, axis=-2), x + column),
        (flow._C.fused_scale_mask_softmax(x, mask, fill_value=-9.0, scale=2.0), masked),
        (flow._C.fused_scale_tril(x, 1, -7.0, 0.5), lower),
        (
            flow._C.fused_scale_tril_softmax_mask_scale(
                x, p=0.0, diagonal=1, tril_scale_value=0.5, tril_fill_value=-7.0
            )[1],
            flow.softmax(lower, -1),
        ),
    ]
    for got, wanted in pairs:
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-12)
        grads = [flow.autograd.grad((y * y).sum(), x, retain_graph=True)[0] for y in (got, wanted)]
        np.testing.assert_allclose(grads[0].numpy(), grads[1].numpy(), rtol=1e-10)
    dropped, chosen = flow._C.fused_scale_mask_softmax_dropout(x, mask, p=0.5)
    ratio = (dropped / chosen).numpy()
    assert np.isclose(ratio, 0).sum() + np.isclose(ratio, 2).sum() == ratio.size
    with pytest.raises(RuntimeError, match="must be a vector"):
        flow._C.fused_bias_add_gelu(x, bias, axis=3)


def test_names_from_upstreams_paths():
    assert flow.framework.tensor.Tensor is flow.Tensor
    assert flow.grad_enable is flow.enable_grad
    assert flow.adaptive_avg_pool2d is flow.nn.functional.adaptive_avg_pool2d
    assert flow._C.transpose(flow.ones(2, 3), perm=[1, 0]).shape == (3, 2)
    assert flow.nn.optimizer.optimizer.Optimizer is flow.optim.Optimizer


def test_both_names_of_arguments():
    a, b = flow.randn(2, 3, 4), flow.randn(2, 4, 5)
    assert flow.equal(flow.bmm(a=a, b=b), flow.bmm(input=a, mat2=b))
    assert flow.sbp.split(axis=1) is flow.sbp.split(dim=1)
    assert flow.placement(device_type="cpu", device_ids={0: [0]}) is flow.placement("cpu", [0])
    assert a.size(idx=1) == a.size(dim=1) == 3
    with pytest.raises(TypeError, match="mean the same"):
        a.size(idx=1, dim=1)


def test_help_shows_the_keywords_that_in_place_functions_take():
    assert str(inspect.signature(flow.exp)) == (
        "(x: 'Tensor', *, out: 'Tensor | None' = None, inplace: 'bool' = False) -> 'Tensor'"
    )
    assert list(inspect.signature(flow.Tensor.exp_).parameters) == ["x"]


def test_where_as_a_method_means_either():
    x, y, yes = flow.tensor([1.0, 2.0]), flow.tensor([3.0, 4.0]), flow.tensor([True, False])
    wanted = [1.0, 4.0]
    assert x.where(yes, y).tolist() == x.where(condition=yes, other=y).tolist() == wanted
    assert yes.where(x, y).tolist() == yes.where(x=x, y=y).tolist() == wanted
    assert (~yes).where(yes, flow.tensor([True, True])).tolist() == [False, True]
    assert [tensor.tolist() for tensor in yes.where()] == [[0]]


def test_upsample_of_a_tensor_and_as_a_layer():
    x = flow.arange(4.0).reshape(1, 1, 2, 2)
    wanted = F.interpolate(x, scale_factor=2)
    for found in (
        F.upsample(x, scale_factor=2),
        F.upsample(x, (4, 4)),
        F.upsample(input=x, size=4),
        F.upsample(scale_factor=2)(x),
        F.upsample((4, 4))(x),
    ):
        assert flow.equal(found, wanted)


def test_a_graph_of_gradients_is_kept_without_asking():
    x = flow.tensor(3.0, requires_grad=True)
    y = x**3
    (first,) = flow.autograd.grad(y, x, create_graph=True)
    first.backward()
    assert x.grad.item() == 18


# --- where names are found


def found_at(path):
    namespace, _, name = f"oneflow.{path}".rpartition(".")
    return getattr(importlib.import_module(namespace), name, None)


def test_registered_functions_are_found_under_their_paths():
    assert [
        path for path, registered in list(FUNCTIONS.items()) if found_at(path) is not registered
    ] == []


@pytest.mark.parametrize("path", ["relu", "special.expit", "sin_"])
def test_a_path_of_a_function_is_taken_once(path):
    with pytest.raises(ValueError, match=f"function `{path}` is already defined"):
        function(method=False, namespace=None, also=(path,))(lambda input: input)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("nn.modules.module.Module", flow.nn.Module),
        ("nn.modules.conv.Conv2d", flow.nn.Conv2d),
        ("nn.parameter.Parameter", flow.nn.Parameter),
        ("nn.graph.Graph", flow.nn.Graph),
        ("nn.utils.clip_grad_norm_", flow.nn.utils.clip_grad_norm_),
        ("autograd.function.Function", flow.autograd.Function),
        ("autograd.functional.jacobian", flow.autograd.functional.jacobian),
        ("random.manual_seed", flow.manual_seed),
    ],
)
def test_paths_of_upstream(path, found):
    assert found_at(path) is found


def test_a_layer_says_where_users_find_it():
    assert flow.nn.Conv2d.__module__ == "oneflow.nn.modules.conv"
    assert type(pickle.loads(pickle.dumps(flow.nn.Conv2d(1, 1, 1)))) is flow.nn.Conv2d


def test_parts_of_a_tensor_are_stacked():
    x = flow.arange(6).reshape(2, 3)
    assert x.stack(1).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert x.stack().tolist() == x.tolist()
