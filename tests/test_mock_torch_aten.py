"""Operators of ``torch.ops.aten`` in PyTorch's place, called as in PyTorch with the same values."""

from __future__ import annotations

import copy
import functools
import operator
import pickle

import pytest
import torch

from oneflow.mock_torch.pytorch import aten
from tests.in_place import in_place_of
from tests.oracle import difference

mocked = functools.partial(in_place_of, "torch")

ARRAYS = {
    "x": torch.linspace(-1, 2, 24).reshape(2, 3, 4),
    "y": torch.linspace(1, 3, 24).reshape(2, 3, 4),
    "m": torch.linspace(-2, 1, 12).reshape(3, 4),
    "w": torch.linspace(0.5, 1.5, 4),
    "i": torch.tensor([2, 0, 1]),
    "mask": torch.tensor([True, False, True]),
    "image": torch.linspace(-1, 1, 72).reshape(1, 2, 6, 6),
    "kernel": torch.linspace(-1, 1, 36).reshape(2, 2, 3, 3),
    "p": torch.linspace(0.1, 0.9, 12).reshape(3, 4),
    "c": torch.complex(torch.linspace(0, 1, 4), torch.linspace(1, 2, 4)),
}
# An operator with its overload, and its arguments: names in quotes are tensors of the table above.
CALLS = [
    ("add.Tensor", "x", "y"),
    ("add.Scalar", "x", 2),
    ("sub.Tensor", "x", "y", {"alpha": 3}),
    ("rsub.Scalar", "x", 2),
    ("mul.Scalar", "x", 2),
    ("div.Tensor_mode", "x", "y", {"rounding_mode": "floor"}),
    ("remainder.Scalar", "x", 2),
    ("pow.Tensor_Scalar", "x", 2),
    ("where.self", "mask", "i", "i"),
    ("clamp_min.default", "x", 0),
    ("clamp.default", "x", -1, 1),
    ("sum.dim_IntList", "x", [0, 2], True),
    ("mean.dim", "x", [1]),
    ("var.correction", "x", [1], {"correction": 0, "keepdim": True}),
    ("max.dim", "x", 1, True),
    ("amax.default", "x", [1, 2]),
    ("any.dim", "mask", 0),
    ("sort.stable", "i", {"stable": True, "dim": 0, "descending": True}),
    ("sort.default", "i", 0, True),
    ("topk.default", "i", 2, 0),
    ("cummax.default", "x", 1),
    ("linalg_vector_norm.default", "x", 2, [1]),
    ("linalg_inv_ex.default", "q"),
    ("special_log_ndtr.default", "x"),
    ("fft_rfft.default", "x", None, 1),
    ("mm.default", "m", "mt"),
    ("bmm.default", "x", "xt"),
    ("addmm.default", "q", "m", "mt", {"beta": 2, "alpha": 3}),
    ("tensordot.default", "x", "m", [1, 2], [0, 1]),
    ("t.default", "m"),
    ("transpose.int", "x", 0, 2),
    ("permute.default", "x", [2, 0, 1]),
    ("view.default", "x", [6, 4]),
    ("_unsafe_view.default", "x", [6, 4]),
    ("expand.default", "w", [3, 4]),
    ("unsqueeze.default", "x", 1),
    ("squeeze.dim", "image", 0),
    ("select.int", "x", 1, 2),
    ("slice.Tensor", "x", 1, 0, 2),
    ("slice.Tensor", "x", 2, 1, None, 2),
    ("split.Tensor", "x", 2, 2),
    ("unbind.int", "x", 1),
    ("cat.default", ["x", "y"], 1),
    ("stack.default", ["x", "y"]),
    ("index.Tensor", "m", ["i"]),
    ("index.Tensor", "m", [None, "i"]),
    ("index_put.default", "m", ["i"], "w", True),
    ("index_select.default", "m", 0, "i"),
    ("gather.default", "i", 0, "i"),
    ("scatter_add.default", "i", 0, "i", "i"),
    ("scatter_reduce.two", "i", 0, "i", "i", "amax"),
    ("masked_fill.Scalar", "i", "mask", 7),
    ("flip.default", "x", [0, 1]),
    ("unfold.default", "x", 2, 3, 1),
    ("repeat_interleave.self_int", "i", 2),
    ("constant_pad_nd.default", "x", [1, 2], 0.5),
    ("to.dtype", "x", torch.float64),
    ("_to_copy.default", "x", {"dtype": torch.float64}),
    ("clone.default", "x"),
    ("alias.default", "x"),
    ("detach.default", "x"),
    ("zeros_like.default", "x"),
    ("full_like.default", "x", 3),
    ("arange.start_step", 1, 7, 2),
    ("full.default", [2, 3], 1.5),
    ("eye.default", 3),
    ("_conj.default", "c"),
    ("sym_size.int", "x", 1),
    ("sym_numel.default", "x"),
    ("_local_scalar_dense.default", "one"),
    ("_softmax.default", "x", 1, False),
    ("_log_softmax.default", "x", -1, False),
    ("elu.default", "x", 1.5, 1.1, 0.7),
    ("elu_.default", "x", 1.5, 1.1, 0.7),
    ("_softmax.default", "x", 1, {"half_to_float": False}),
    ("sub.Scalar", "x", 1, 2),
    ("add.Scalar", "x", 1, 2),
    ("rsub.Scalar", "x", 1, 2),
    ("clamp.default", {"self": "x", "min": 0}),
    ("clamp", {"self": "x", "min": 0}),
    ("one_hot.default", "i", 4),
    ("one_hot.default", "i"),
    ("batch_norm.default", "image", None, None, None, None, True, 0.1, 1e-3, False),
    ("instance_norm.default", "image", None, None, None, None, True, 0.1, 1e-3, False),
    ("poisson_nll_loss.default", "x", "y", True, False, 1e-8, 2),
    ("ctc_loss.IntList", "steps", "labels", [3, 2], [1, 2], 0, 2, False),
    ("leaky_relu.default", "x", 0.3),
    ("gelu.default", "x", {"approximate": "tanh"}),
    ("log_sigmoid.default", "x"),
    ("hardtanh.default", "x", -0.5, 0.5),
    ("embedding.default", "m", "i"),
    ("embedding.default", "m", "i", -2),
    ("layer_norm.default", "x", [4], "w", "w", 1e-3),
    ("native_layer_norm.default", "x", [4], "w", None, 1e-3),
    ("native_layer_norm.default", "x", [3, 4], None, None, 1e-5),
    ("layer_norm.default", "x", [4], "w", "w", 1e-3, False),
    ("group_norm.default", "image", 2),
    ("group_norm.default", "image", 2, None, None, 1e-3, False),
    ("group_norm.default", "image", 2, {"cudnn_enabled": False}),
    ("convolution.default", "image", "kernel", None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1),
    ("convolution.default", "image", "kernel", None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1),
    ("conv2d.default", "image", "kernel"),
    ("max_pool2d.default", "image", [3, 3], [1, 1], [1, 1], [1, 1], True),
    ("max_pool2d_with_indices.default", "image", [2, 2]),
    ("avg_pool2d.default", "image", [2, 2]),
    ("im2col.default", "image", [2, 2], [1, 1], [0, 0], [2, 2]),
    ("native_dropout.default", "x", 0.5, False),
    ("mse_loss.default", "x", "y", 2),
    ("mse_loss.default", "x", "y", 0),
    ("huber_loss.default", "x", "y", 1, 0.5),
    ("smooth_l1_loss.default", "x", "y", 1, 0.5),
    ("kl_div.default", "p", "p2", 2, {"log_target": True}),
    ("binary_cross_entropy.default", "p", "p2", None, 2),
    ("nll_loss_nd.default", "m", "i", None, 2, 1),
    ("cross_entropy_loss.default", "m", "i", None, 1, -100, 0.1),
    ("isclose.default", "x", "y", 0.5, 0.0),
    ("allclose.default", "x", "y", 5.0, 0.0),
]
ARRAYS |= {
    "q": ARRAYS["m"][:, :3] + torch.eye(3),
    "mt": ARRAYS["m"].T.contiguous(),
    "xt": ARRAYS["x"].transpose(1, 2).contiguous(),
    "p2": ARRAYS["p"].flip(0),
    "one": torch.tensor(2.5),
    "steps": torch.linspace(-1, 0, 24).reshape(4, 2, 3).log_softmax(2),
    "labels": torch.tensor([[1, 2], [2, 1]]),
}


def result_of(framework, call):
    name, *args = call
    options = args.pop() if isinstance(args[-1], dict) else {}

    def made(value):
        if isinstance(value, list):
            return [made(part) for part in value]
        if isinstance(value, torch.dtype):
            return getattr(framework, str(value).removeprefix("torch."))
        if isinstance(value, str) and value in ARRAYS:  # other texts are words, such as "amax"
            return framework.tensor(ARRAYS[value].numpy())
        return value

    overload = functools.reduce(getattr, name.split("."), framework.ops.aten)
    return overload(*map(made, args), **{key: made(option) for key, option in options.items()})


@pytest.mark.parametrize("call", CALLS, ids=[f"{i}-{call[0]}" for i, call in enumerate(CALLS)])
def test_operators_are_those_of_pytorch(call):
    found = result_of(mocked(), call)
    expected = result_of(torch, call)
    # Operators give plain tuples where functions give such with names.
    found = tuple(found) if isinstance(found, tuple) else found
    assert difference(found, expected) is None


def test_the_order_of_arguments_does_not_depend_on_the_path_of_pickles():
    in_place_of("torch.top_level")  # functions found there are pickled by that path
    x, y = (mocked().tensor(values) for values in ([1.0, 2.0], [1.4, 2.9]))
    assert aten._public_function("isclose")(x, y, 0.5, 0.0).tolist() == [True, True]


def test_large_inputs_of_elu_have_gradients():
    def gradient(framework):
        x = framework.tensor([200.0, 0.0, -1.0, -200.0], requires_grad=True)
        framework.ops.aten.elu(x, 1.5, 1.1, 0.7).sum().backward()
        return x.grad

    assert difference(gradient(mocked()), gradient(torch)) is None


def test_softmax_of_half_precision_gives_single_precision():
    x = mocked().tensor([[1.0, 2.0]]).half()
    for name in ("_softmax", "_log_softmax"):
        assert getattr(mocked().ops.aten, name)(x, 1, True).dtype is mocked().float32


@pytest.mark.parametrize(
    "make", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_of_operators_are_the_same(make):
    add = mocked().ops.aten.add
    assert make(add) is add
    assert make(add.Tensor) is add.Tensor


@pytest.mark.parametrize("name", ["isclose", "allclose"])
@pytest.mark.parametrize("tolerances", [(0.5, 0.0), (0.0, 0.5), (0.5,), ()])
def test_relative_tolerances_are_first(name, tolerances):
    def result(framework):
        x, y = framework.tensor([10.0, 1.0]), framework.tensor([14.0, 1.4])
        return getattr(framework, name)(x, y, *tolerances)

    assert difference(result(mocked()), result(torch)) is None


def test_operators_have_names():
    def named(framework):
        add = framework.ops.aten.add
        overloads = add.Tensor, add.default
        return [
            (str(add), repr(add), str(add.Tensor), repr(add.Tensor), add.Tensor.name()),
            add.Tensor is framework.ops.aten.add.Tensor,
            add.Tensor.overloadpacket is add,
            isinstance(add.Tensor, framework._ops.OpOverload),
            isinstance(add, framework._ops.OpOverloadPacket),
            len(set(overloads)),
        ]

    assert named(mocked()) == named(torch)


@pytest.mark.parametrize("name", ["_nested_view_from_jagged", "embedding_bag", "add.nothing"])
def test_operators_without_a_function_say_so(name):
    with pytest.raises(AttributeError, match=r"aten(\.|::)" + name.partition(".")[0]):
        operator.attrgetter(name)(mocked().ops.aten)
