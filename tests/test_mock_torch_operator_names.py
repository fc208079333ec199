"""Operators of PyTorch's top level that go by a library of kernels, or are parts of others."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.in_place import in_place_of

OURS = in_place_of("torch")
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(2, 4, 5, 5)).astype(np.float32)
W = RANDOM.normal(size=(6, 4, 3, 3)).astype(np.float32)
B = RANDOM.normal(size=6).astype(np.float32)
C = [RANDOM.uniform(0.5, 2, size=4).astype(np.float32) for _ in range(4)]
Z = RANDOM.normal(size=(2, 6, 5, 5)).astype(np.float32)
CONV = ((1, 1), (1, 1), (1, 1), 1)


def same_as(ours, theirs):
    """Arguments of ours and of PyTorch's, as arrays in trees."""
    if isinstance(theirs, tuple | list):
        assert len(ours) == len(theirs)
        for pair in zip(ours, theirs, strict=True):
            same_as(*pair)
    elif isinstance(theirs, torch.Tensor):
        theirs, ours = theirs.detach(), ours.detach()
        assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-5, atol=2e-5)
    else:
        assert ours == theirs


#: By name: the call, and what it is in PyTorch on a CPU, where the call itself needs a GPU.
SAME = {
    "batch_norm_update_stats": (
        lambda torch, t: (
            *torch.batch_norm_update_stats(t(X), t(C[0]), t(C[1]), 0.25),
            *moved(torch, t),
        ),
        None,
    ),
    "mkldnn_convolution": (
        lambda torch, t: torch.mkldnn_convolution(t(X), t(W), t(B), *CONV),
        None,
    ),
    "cudnn_convolution": (
        lambda torch, t: torch.cudnn_convolution(t(X), t(W), *CONV, False, False, False),
        lambda torch, t: torch.conv2d(t(X), t(W), None, padding=1),
    ),
    "miopen_convolution": (
        lambda torch, t: torch.miopen_convolution(
            t(X), t(W), t(B), (0, 0), (2, 2), (1, 1), 1, False, False
        ),
        lambda torch, t: torch.conv2d(t(X), t(W), t(B), stride=2),
    ),
    "miopen_depthwise_convolution": (
        lambda torch, t: torch.miopen_depthwise_convolution(
            t(X), t(W[:4, :1]), None, (0, 0), (1, 1), (2, 2), 4, False, False
        ),
        lambda torch, t: torch.conv2d(t(X), t(W[:4, :1]), None, dilation=2, groups=4),
    ),
    "cudnn_convolution_relu": (
        lambda torch, t: torch.cudnn_convolution_relu(t(X), t(W), t(B), (2, 2), (0, 0), (1, 1), 1),
        lambda torch, t: torch.conv2d(t(X), t(W), t(B), stride=2).relu(),
    ),
    "cudnn_convolution_add_relu": (
        lambda torch, t: torch.cudnn_convolution_add_relu(t(X), t(W), t(Z), 0.5, t(B), *CONV),
        lambda torch, t: (torch.conv2d(t(X), t(W), t(B), padding=1) + 0.5 * t(Z)).relu(),
    ),
    "cudnn_convolution_transpose": (
        lambda torch, t: torch.cudnn_convolution_transpose(
            t(Z), t(W), (1, 1), (1, 1), (2, 2), (1, 1), 1, False, False, False
        ),
        lambda torch, t: torch.conv_transpose2d(
            t(Z), t(W), None, stride=2, padding=1, output_padding=1
        ),
    ),
    "miopen_convolution_transpose": (
        lambda torch, t: torch.miopen_convolution_transpose(
            t(Z), t(W), t(C[0]), (1, 1), (0, 0), (1, 1), (1, 1), 1, False, False
        ),
        lambda torch, t: torch.conv_transpose2d(t(Z), t(W), t(C[0]), padding=1),
    ),
    "miopen_batch_norm": (
        lambda torch, t: torch.miopen_batch_norm(
            t(X), t(C[0]), t(C[1]), None, None, True, 0.1, 1e-3
        ),
        lambda torch, t: torch.native_batch_norm(
            t(X), t(C[0]), t(C[1]), None, None, True, 0.1, 1e-3
        ),
    ),
    "cudnn_batch_norm": (
        lambda torch, t: torch.cudnn_batch_norm(
            t(X), t(C[0]), t(C[1]), t(C[2]), t(C[3]), False, 0.1, 1e-3
        )[0],
        lambda torch, t: torch.batch_norm(
            t(X), t(C[0]), t(C[1]), t(C[2]), t(C[3]), False, 0.1, 1e-3, False
        ),
    ),
    "cudnn_grid_sampler": (
        lambda torch, t: torch.cudnn_grid_sampler(t(X), t(Z[:, :, :2, :2].reshape(2, 6, 2, 2))),
        lambda torch, t: torch.nn.functional.grid_sample(
            t(X), t(Z[:, :, :2, :2].reshape(2, 6, 2, 2)), align_corners=True
        ),
    ),
    "cudnn_affine_grid_generator": (
        lambda torch, t: torch.cudnn_affine_grid_generator(t(X[:, :2, :3, 0]), 2, 1, 3, 4),
        lambda torch, t: torch.nn.functional.affine_grid(
            t(X[:, :2, :3, 0]), (2, 1, 3, 4), align_corners=True
        ),
    ),
    "mkldnn_linear_backward_weights": (
        lambda torch, t: torch.mkldnn_linear_backward_weights(
            t(X[:, :, 0, :3]), t(X[:, :, 1]), t(X[0, :3, 0]), True
        ),
        lambda torch, t: gradients_of_linear(torch, t(X[:, :, 0, :3]), t(X[:, :, 1])),
    ),
    "mkldnn_max_pool2d": (
        lambda torch, t: torch.mkldnn_max_pool2d(t(X), 2),
        lambda torch, t: torch.max_pool2d(t(X), 2),
    ),
    "mkldnn_adaptive_avg_pool2d": (
        lambda torch, t: torch.mkldnn_adaptive_avg_pool2d(t(X), (2, 3)),
        lambda torch, t: torch.nn.functional.adaptive_avg_pool2d(t(X), (2, 3)),
    ),
    "as_strided_": (lambda torch, t: torch.as_strided_(t(X), (2, 3), (5, 1), 4), None),
    "dequantize": (lambda torch, t: torch.dequantize(t(X.astype(np.float64))), None),
    "crow_indices_copy": (
        lambda torch, t: [
            torch.crow_indices_copy(t(C[0].reshape(2, 2)).to_sparse_csr()),
            torch.col_indices_copy(t(C[0].reshape(2, 2)).to_sparse_csr()),
            torch.ccol_indices_copy(t(C[0].reshape(2, 2)).to_sparse_csc()),
        ],
        None,
    ),
    "dtypes of others": (
        lambda torch, t: [
            str(torch.get_autocast_xla_dtype()).rpartition(".")[2],
            str(torch.get_autocast_ipu_dtype()).rpartition(".")[2],
            torch.is_autocast_xla_enabled(),
            torch.is_autocast_ipu_enabled(),
            torch.is_vulkan_available(),
            torch.cudnn_is_acceptable(t(X)),
            torch.sym_sqrt(4),
            torch.sym_fresh_size(4),
        ],
        None,
    ),
}


def moved(torch, t):
    mean, variance = t(C[0]), t(C[1])
    torch.batch_norm_update_stats(t(X), mean, variance, 0.25)
    return mean, variance


def gradients_of_linear(torch, grads, inputs):
    weight = torch.zeros(3, 5, requires_grad=True)
    bias = torch.zeros(3, requires_grad=True)
    torch.nn.functional.linear(inputs, weight, bias).backward(grads)
    return weight.grad, bias.grad


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor", "ignore:torch.*autocast_..._dtype")
@pytest.mark.filterwarnings("ignore:torch.is_autocast")
@pytest.mark.parametrize("name", SAME)
def test_operators_are_pytorchs(name):
    call, on_cpu = SAME[name]
    ours = call(OURS, lambda array: OURS.tensor(array.copy()))
    theirs = (on_cpu or call)(torch, lambda array: torch.from_numpy(array.copy()))
    same_as(ours, theirs)


def test_parts_of_batch_normalization_are_the_whole():
    torch_x = torch.from_numpy(X).requires_grad_()
    weight = torch.from_numpy(C[0]).requires_grad_()
    bias, mean, variance = (torch.from_numpy(array.copy()) for array in C[1:])
    bias.requires_grad_()
    output = torch.batch_norm(torch_x, weight, bias, mean, variance, True, 0.3, 1e-3, False)
    grad = torch.from_numpy(X[::-1].copy())
    output.backward(grad)

    halves = [OURS.tensor(X[:1]), OURS.tensor(X[1:])]
    means = OURS.stack([half.mean([0, 2, 3]) for half in halves])
    deviations = OURS.stack([half.var([0, 2, 3], unbiased=False) for half in halves])
    running = [OURS.tensor(C[2]), OURS.tensor(C[3])]
    common, invstd = OURS.batch_norm_gather_stats(
        halves[0], means, (deviations + 1e-3) ** -0.5, *running, 0.3, 1e-3, 25
    )
    same_as(running, [mean, variance])
    whole, ours_grad = OURS.tensor(X), OURS.tensor(grad.numpy())
    factors = OURS.tensor(C[0])
    sums, products, grad_weight, grad_bias = OURS.batch_norm_backward_reduce(
        ours_grad, whole, common, invstd, factors, True, True, True
    )
    same_as([grad_weight, grad_bias], [weight.grad, bias.grad])
    counts = OURS.tensor([25, 25])
    grad_input = OURS.batch_norm_backward_elemt(
        ours_grad, whole, common, invstd, factors, sums, products, counts
    )
    same_as(grad_input, torch_x.grad)
    none = OURS.batch_norm_backward_reduce(
        ours_grad, whole, common, invstd, factors, False, False, False
    )
    assert none == (None,) * 4


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("scale_of_values", [1.0, 1e-6])
@pytest.mark.parametrize("limits", [(0, 255), (-128, 127)])
def test_ranges_follow_values(symmetric, rows, scale_of_values, limits):
    answers = []
    for library in (OURS, torch):
        count = 2 if rows else 1
        low, high = library.full((count,), float("inf")), library.full((count,), -float("inf"))
        scale = library.ones(count)
        zero = library.zeros(count, dtype=library.int32)
        results = []
        for shift in (0, 0.5):
            values = library.tensor((X + np.float32(shift)) * np.float32(scale_of_values))
            on = library.tensor(1)
            results.append(
                library.fused_moving_avg_obs_fake_quant(
                    values, on, on, low, high, scale, zero, 0.25, *limits, 0, rows, symmetric
                )
            )
        answers.append([low, high, scale, zero, *results])
    same_as(*answers)


def test_settings_are_kept():
    OURS.set_autocast_xla_dtype(OURS.float16)
    assert OURS.get_autocast_xla_dtype() is OURS.float16
    OURS.set_autocast_xla_dtype(OURS.bfloat16)
    with pytest.raises(RuntimeError, match="positive"):
        OURS.set_num_interop_threads(0)
    assert OURS.get_num_interop_threads() > 0
    OURS.set_anomaly_enabled(True)
    assert OURS.is_anomaly_enabled()
    OURS.set_anomaly_enabled(False)
    assert not OURS.is_anomaly_enabled()


@pytest.mark.parametrize("name", ["fbgemm_linear_fp16_weight", "miopen_rnn", "miopen_ctc_loss"])
def test_libraries_that_are_not_here(name):
    with pytest.raises(NotImplementedError, match=f"torch.{name}"):
        getattr(OURS, name)()


def test_positions_of_sparse_tensors_are_copied():
    x = OURS.eye(2).to_sparse().coalesce()
    copy = OURS.indices_copy(x)
    copy.fill_(0)
    assert x.indices().tolist() == [[0, 1], [0, 1]]
