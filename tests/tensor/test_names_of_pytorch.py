"""Functions under PyTorch's names: aliases at the top level, and in-place forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow

# Functions of `nn.functional` that PyTorch has at its top level, too.
LAYERS = [
    "avg_pool1d",
    "bilinear",
    "celu",
    "celu_",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_similarity",
    "dropout",
    "group_norm",
    "hardshrink",
    "layer_norm",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "pairwise_distance",
    "pixel_shuffle",
    "pixel_unshuffle",
    "prelu",
    "relu_",
    "rms_norm",
    "rrelu",
    "rrelu_",
    "selu_",
    "threshold_",
]
# Calls that both libraries have, with what they make of six numbers.
CALLS = {
    "as_strided_copy": lambda lib, x: lib.as_strided_copy(x, (2, 2), (1, 1)),
    "as_strided_scatter": lambda lib, x: lib.as_strided_scatter(x, lib.ones(2), (2,), (3,), 1),
    "diagonal_copy": lambda lib, x: lib.diagonal_copy(x, 1),
    "expand_copy": lambda lib, x: lib.expand_copy(x, (2, 2, 3)),
    "narrow_copy": lambda lib, x: lib.narrow_copy(x, 1, 1, 2),
    "permute_copy": lambda lib, x: lib.permute_copy(x, (1, 0)),
    "select_copy": lambda lib, x: lib.select_copy(x, 1, -1),
    "split_copy": lambda lib, x: lib.split_copy(x, 2, 1),
    "split_with_sizes": lambda lib, x: lib.split_with_sizes(x, split_sizes=[1, 2], dim=1),
    "split_with_sizes_copy": lambda lib, x: lib.split_with_sizes_copy(x, [1, 2], 1),
    "squeeze_copy": lambda lib, x: lib.squeeze_copy(x[:1], 0),
    "t_copy": lambda lib, x: lib.t_copy(x),
    "transpose_copy": lambda lib, x: lib.transpose_copy(x, 0, 1),
    "unbind_copy": lambda lib, x: lib.unbind_copy(x, 1),
    "unfold_copy": lambda lib, x: lib.unfold_copy(x, 1, 2, 1),
    "unsafe_chunk": lambda lib, x: lib.unsafe_chunk(x, 2, 1),
    "unsafe_split": lambda lib, x: lib.unsafe_split(x, split_size=2, dim=1),
    "unsafe_split_with_sizes": lambda lib, x: lib.unsafe_split_with_sizes(x, [1, 2], 1),
    "unsqueeze_copy": lambda lib, x: lib.unsqueeze_copy(x, 1),
    "view_copy": lambda lib, x: lib.view_copy(x, (3, 2)),
    "adaptive_max_pool1d": lambda lib, x: lib.adaptive_max_pool1d(x, 2),
    "max_pool1d_with_indices": lambda lib, x: lib.max_pool1d_with_indices(x, 2),
    "index_put_": lambda lib, x: lib.index_put_(x, (lib.tensor([1]),), lib.tensor(9.0)),
    "fill": lambda lib, x: lib.fill(x, 2.5),
    "fill from a tensor": lambda lib, x: lib.fill(x, lib.tensor(2.5)),
    "scalar_tensor": lambda lib, x: lib.scalar_tensor(3) + lib.scalar_tensor(True),
    "scalar_tensor of a dtype": lambda lib, x: lib.scalar_tensor(s=3.5, dtype=lib.int64),
    "constant_pad_nd": lambda lib, x: lib.constant_pad_nd(x, pad=(1, -1, 0, 2), value=9),
    "nonzero_static": lambda lib, x: lib.nonzero_static(x > 0, size=5),
    "nonzero_static of few": lambda lib, x: x.nonzero_static(size=2),
    "nonzero_static of many": lambda lib, x: lib.nonzero_static(x, size=9, fill_value=7),
    "nonzero_static of one": lambda lib, x: lib.nonzero_static(x[0, 0], size=2),
    "nonzero_static of none": lambda lib, x: lib.nonzero_static(x[:0], size=2),
    "solve_ex of a singular matrix": lambda lib, x: lib.linalg.solve_ex(lib.ones(2, 2), x).info,
    "tril_indices": lambda lib, x: lib.tril_indices(2, 3, layout=lib.strided),
    "triu_indices": lambda lib, x: lib.triu_indices(3, 2, -1, layout=lib.strided),
    "norm_except_dim": lambda lib, x: lib.norm_except_dim(x, 2, 1),
    "norm_except_dim of all": lambda lib, x: lib.norm_except_dim(v=x, pow=1, dim=-1),
    "feature_dropout": lambda lib, x: lib.feature_dropout(x[..., None], 1.0, train=True),
    "upsample_nearest": lambda lib, x: lib.nn.functional.upsample_nearest(x[None], scale_factor=2),
    "upsample_bilinear": lambda lib, x: lib.nn.functional.upsample_bilinear(x[None, None], (4, 5)),
}
# New tensors whose strides count.
STRIDED = {
    "empty_strided": lambda lib: lib.empty_strided((2, 3), (1, 4)),
    "empty_strided without elements": lambda lib: lib.empty_strided((2, 0), (1, 4)),
    "empty_permuted": lambda lib: lib.empty_permuted((2, 3, 4), (1, 2, 0)),
    "new_empty_strided": lambda lib: lib.ones(1).new_empty_strided((2, 3), (1, 2)),
}
X = np.array([[-2.0, -0.4, 0.3], [1.5, 2.0, -1.0]], np.float32)
# In-place functions with what they take beside the tensor.
INPLACE: dict[str, tuple] = {
    "celu_": (),
    "fill_": (2.0,),
    "nn.functional.celu_": (1.5,),
    "nn.functional.elu_": (0.5,),
    "nn.functional.hardtanh_": (-0.5, 1.0),
    "nn.functional.leaky_relu_": (0.2,),
    "nn.functional.relu_": (),
    "nn.functional.selu_": (),
    "nn.functional.threshold_": (0.1, 7.0),
    "relu_": (),
    "rrelu_": (0.25, 0.25),
    "selu_": (),
    "sigmoid_": (),
    "tanh_": (),
    "threshold_": (0.1, 7.0),
    "zero_": (),
}


def found(library: Any, path: str) -> Any:
    """The function of that path in a library."""
    for part in path.split("."):
        library = getattr(library, part)
    return library


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_the_same_at_the_top_level(name: str) -> None:
    assert found(flow, name) is found(flow.nn.functional, name)
    assert hasattr(torch, name)


@pytest.mark.parametrize("path", INPLACE)
def test_inplace_functions_change_their_argument(path: str) -> None:
    mine, theirs = flow.tensor(X), torch.tensor(X)
    assert found(flow, path)(mine, *INPLACE[path]) is mine
    found(torch, path)(theirs, *INPLACE[path])
    np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-6)


def test_inplace_functions_have_gradients() -> None:
    x = flow.tensor(X, requires_grad=True)
    y = x * 1
    flow.nn.functional.elu_(y)
    y.sum().backward()
    theirs = torch.tensor(X, requires_grad=True)
    torch.nn.functional.elu(theirs).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), theirs.grad.numpy(), rtol=1e-6)


def test_inplace_forms_of_dropout() -> None:
    for name in ("dropout_", "alpha_dropout_", "feature_alpha_dropout_"):
        x = flow.ones(4, 3)
        assert found(flow, name)(x, 0.0, True) is x
        np.testing.assert_array_equal(x.numpy(), np.ones((4, 3)))
    assert flow.dropout_(flow.ones(4), 1.0).sum().item() == 0


def test_statistics_come_last_at_the_top_level() -> None:
    shapes = {"weight": 3, "bias": 3, "running_mean": 3, "running_var": 3}
    arrays = {name: np.linspace(0.5, 2, n).astype(np.float32) for name, n in shapes.items()}
    x = np.random.default_rng(0).normal(size=(4, 3, 5)).astype(np.float32)
    for name in ("batch_norm", "instance_norm"):
        results = []
        for library in (flow, torch):
            given = [library.tensor(array) for array in arrays.values()]
            y = found(library, name)(library.tensor(x), *given, True, 0.1, 1e-5, True)
            results.append([y.numpy(), given[2].numpy(), given[3].numpy()])
        for mine, theirs in zip(*results, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5)


def test_tables_come_first_at_the_top_level() -> None:
    table, rows = np.arange(6, dtype=np.float32).reshape(3, 2), [[0, 2], [1, 1]]
    mine = flow.embedding(flow.tensor(table), flow.tensor(rows))
    theirs = torch.embedding(torch.tensor(table), torch.tensor(rows))
    np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    for padding_idx in (1, -1, -2):  # none of which counts from the end
        slopes = []
        for library in (flow, torch):
            weight = library.ones(3, 1, requires_grad=True)
            library.embedding(weight, library.tensor([0, 1, 2]), padding_idx).sum().backward()
            slopes.append(weight.grad.flatten().tolist())
        assert slopes[0] == slopes[1]


def test_detached_tensors() -> None:
    x = flow.ones(2, requires_grad=True)
    assert not flow.detach(x).requires_grad
    y = x * 2
    assert flow.detach_(y) is y
    assert not y.requires_grad


@pytest.mark.filterwarnings("ignore:`nn.functional.upsample:UserWarning")
@pytest.mark.parametrize("name", CALLS)
def test_calls_give_what_pytorch_gives(name):
    mine, theirs = (CALLS[name](lib, lib.tensor(X)) for lib in (flow, torch))
    several = isinstance(theirs, tuple)
    assert isinstance(mine, tuple) == several
    for one, other in zip(
        mine if several else [mine], theirs if several else [theirs], strict=True
    ):
        assert one.numpy().dtype == other.numpy().dtype
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "name", [function_name for function_name in CALLS if function_name.endswith("_copy")]
)
def test_copies_have_memory_of_their_own(name):
    x = flow.tensor(X)
    copied = CALLS[name](flow, x)
    for part in copied if isinstance(copied, tuple) else [copied]:
        part.fill_(7)
    np.testing.assert_array_equal(x.numpy(), X)


@pytest.mark.parametrize("name", STRIDED)
def test_new_tensors_have_the_strides_asked_for(name):
    mine, theirs = (STRIDED[name](lib) for lib in (flow, torch))
    assert tuple(mine.shape) == tuple(theirs.shape)
    if theirs.numel():
        assert mine.stride() == theirs.stride()


def test_filled_tensors_have_gradients_of_the_number() -> None:
    for lib in (torch, flow):
        x, value = lib.ones(3, requires_grad=True), lib.tensor(2.0, requires_grad=True)
        lib.fill(x, value).sum().backward()
        assert (x.grad.tolist(), value.grad.item()) == ([0, 0, 0], 3)


def test_dimensions_in_the_order_of_memory() -> None:
    for lib in (torch, flow):
        x = lib.ones(2, 3, 4, 5)
        assert [tensor.dim_order() for tensor in (x, x.permute(0, 2, 3, 1))] == [
            (0, 1, 2, 3),
            (0, 3, 1, 2),
        ]


def test_a_graph_records_positions_of_a_known_number() -> None:
    class Positions(flow.nn.Graph):
        def build(self, x: Any) -> Any:
            return flow.nonzero_static(x > 0, size=3)

    assert Positions()(flow.tensor(X)).tolist() == [[0, 2], [1, 0], [1, 1]]


@pytest.mark.parametrize(
    "misuse",
    [
        lambda lib: lib.empty_strided((2, 3), (1,)),
        lambda lib: lib.empty_strided((2, 3), (1, -1)),
        lambda lib: lib.empty_permuted((2, 3), (0, 0)),
        lambda lib: lib.nonzero_static(lib.ones(4), size=-1),
        lambda lib: lib.fill(lib.ones(4), lib.ones(4)),
        lambda lib: lib.feature_dropout(lib.ones(4), 0.5, True),
        lambda lib: lib.as_strided_scatter(lib.ones(4), lib.ones(3), (2,), (1,)),
    ],
)
def test_what_does_not_fit_is_refused(misuse):
    for lib in (torch, flow):
        with pytest.raises(RuntimeError):
            misuse(lib)


def test_names_of_types() -> None:
    for make in (lambda lib: lib.ones(1), lambda lib: lib.ones(1).long(), lambda lib: 3, str):
        ours, theirs = flow.typename(make(flow)), torch.typename(make(torch))
        assert ours.replace("oneflow", "torch") == theirs
    for name in ("float32", "float64", "bfloat16", "complex64", "int64"):
        ours, theirs = getattr(flow, name), getattr(torch, name)
        assert ours.to_real().name == str(theirs.to_real()).removeprefix("torch.")
        if name == "int64":
            with pytest.raises(RuntimeError):
                ours.to_complex()
        else:
            assert ours.to_complex().name == str(theirs.to_complex()).removeprefix("torch.")


def test_kinds_of_tensors_that_do_not_exist() -> None:
    for name in ("is_nested", "is_sparse", "is_sparse_csr", "is_mkldnn", "is_quantized"):
        assert getattr(flow.ones(1), name) is getattr(torch.ones(1), name) is False
    assert flow.ones(1).is_shared() is torch.ones(1).is_shared() is False
