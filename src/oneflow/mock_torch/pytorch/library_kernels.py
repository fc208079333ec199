"""Operators that PyTorch computes with a library of kernels: cuDNN, MIOpen, oneDNN, FBGEMM.

XLA chooses kernels itself; the operators are those without the library's name, on any device.
"""

from __future__ import annotations

from collections.abc import Sequence

import oneflow as flow
from oneflow import Tensor
from oneflow.mock_torch.missing import missing_function
from oneflow.mock_torch.pytorch.kernels import affine_grid_generator, convolution
from oneflow.nn import functional

_Numbers = int | Sequence[int]


def cudnn_is_acceptable(tensor: Tensor) -> bool:
    """Return whether cuDNN takes a tensor: one of floating point with elements, on a GPU."""
    kinds = (flow.float16, flow.float32, flow.float64)
    return tensor.device.type == "cuda" and tensor.dtype in kinds and tensor.numel() > 0


def is_vulkan_available() -> bool:
    """Return False."""
    return False


def cudnn_convolution(
    input: Tensor,
    weight: Tensor,
    padding: _Numbers,
    stride: _Numbers,
    dilation: _Numbers,
    groups: int,
    benchmark: bool = False,
    deterministic: bool = False,
    allow_tf32: bool = False,
) -> Tensor:
    """Convolve; the last three arguments choose among cuDNN's kernels, and have no effect.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.mock_torch.pytorch.library_kernels import cudnn_convolution
        >>> cudnn_convolution(flow.ones(1, 1, 3), flow.ones(1, 1, 2), (0,), (1,), (1,), 1).tolist()
        [[[2.0, 2.0]]]
    """
    return mkldnn_convolution(input, weight, None, padding, stride, dilation, groups)


def mkldnn_convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding: _Numbers,
    stride: _Numbers,
    dilation: _Numbers,
    groups: int,
    benchmark: bool = False,
    deterministic: bool = False,
) -> Tensor:
    """Convolve; the last two arguments choose among MIOpen's kernels, and have no effect."""
    unmoved = [0] * (input.ndim - 2)
    return convolution(input, weight, bias, stride, padding, dilation, False, unmoved, groups)


miopen_convolution = mkldnn_convolution


def miopen_depthwise_convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding: _Numbers,
    stride: _Numbers,
    dilation: _Numbers,
    groups: int,
    benchmark: bool = False,
    deterministic: bool = False,
) -> Tensor:
    """Convolve each channel by itself, whatever `groups` says."""
    return mkldnn_convolution(input, weight, bias, padding, stride, dilation, input.shape[1])


def cudnn_convolution_relu(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: _Numbers,
    padding: _Numbers,
    dilation: _Numbers,
    groups: int,
) -> Tensor:
    """Convolve, and replace what is below 0 by it."""
    return mkldnn_convolution(input, weight, bias, padding, stride, dilation, groups).relu()


def cudnn_convolution_add_relu(
    input: Tensor,
    weight: Tensor,
    z: Tensor,
    alpha: float | None,
    bias: Tensor | None,
    stride: _Numbers,
    padding: _Numbers,
    dilation: _Numbers,
    groups: int,
) -> Tensor:
    """Convolve, add `alpha` times another tensor, and replace what is below 0 by it."""
    result = mkldnn_convolution(input, weight, bias, padding, stride, dilation, groups)
    return (result + (1 if alpha is None else alpha) * z).relu()


miopen_convolution_relu, miopen_convolution_add_relu = (
    cudnn_convolution_relu,
    cudnn_convolution_add_relu,
)


def cudnn_convolution_transpose(
    input: Tensor,
    weight: Tensor,
    padding: _Numbers,
    output_padding: _Numbers,
    stride: _Numbers,
    dilation: _Numbers,
    groups: int,
    benchmark: bool = False,
    deterministic: bool = False,
    allow_tf32: bool = False,
) -> Tensor:
    """Convolve transposed; the last three arguments have no effect."""
    return miopen_convolution_transpose(
        input, weight, None, padding, output_padding, stride, dilation, groups
    )


def miopen_convolution_transpose(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding: _Numbers,
    output_padding: _Numbers,
    stride: _Numbers,
    dilation: _Numbers,
    groups: int,
    benchmark: bool = False,
    deterministic: bool = False,
) -> Tensor:
    """Convolve transposed; the last two arguments have no effect."""
    return convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def miopen_batch_norm(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    exponential_average_factor: float,
    epsilon: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalize batches; return the means, and one over the deviations, of training, too."""
    dims = [dim for dim in range(input.ndim) if dim != 1]
    empty = input.new_empty((0,))
    mean, invstd = empty, empty
    if training:
        mean = input.mean(dims).detach()
        invstd = (input.var(dims, unbiased=False).detach() + epsilon) ** -0.5
    output = functional.batch_norm(
        input,
        running_mean,
        running_var,
        weight,
        bias,
        training,
        exponential_average_factor,
        epsilon,
    )
    return output, mean, invstd


def cudnn_batch_norm(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    exponential_average_factor: float,
    epsilon: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`miopen_batch_norm`, and a tensor for cuDNN's notes, which is empty."""
    results = miopen_batch_norm(
        input,
        weight,
        bias,
        running_mean,
        running_var,
        training,
        exponential_average_factor,
        epsilon,
    )
    return (*results, input.new_empty((0,), dtype=flow.uint8))


def cudnn_grid_sampler(input: Tensor, grid: Tensor) -> Tensor:
    """Read a tensor at positions between its elements; zeros lie around it, and -1 is a corner."""
    return functional.grid_sample(
        input, grid, mode="bilinear", padding_mode="zeros", align_corners=True
    )


def cudnn_affine_grid_generator(theta: Tensor, N: int, C: int, H: int, W: int) -> Tensor:
    """Return the positions of an affine map, in which -1 is a corner."""
    return affine_grid_generator(theta, (N, C, H, W), True)


def mkldnn_linear_backward_weights(
    grad_output: Tensor, input: Tensor, weight: Tensor, bias_defined: bool
) -> tuple[Tensor, Tensor | None]:
    """Return the gradients of the weight of a linear layer, and of its bias if it has one."""
    grads = grad_output.reshape(-1, grad_output.shape[-1])
    grad_weight = grads.mT @ input.reshape(-1, input.shape[-1])
    return grad_weight, grads.sum(0) if bias_defined else None


def mkldnn_max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """Return what `max_pool2d` of ``nn.functional`` does.

    Args:
        input: images of shape (N, C, H, W).
        kernel_size: the size of a window.
        stride: the distance of windows; by default their size.
        padding: the width of the border around an image.
        dilation: the distance of the elements of a window.
        ceil_mode: whether sizes are rounded up.
    """
    options = {"padding": padding, "dilation": dilation, "ceil_mode": ceil_mode}
    return functional.max_pool2d(input, kernel_size, stride or None, **options)


def mkldnn_max_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """Return what `max_pool3d` of ``nn.functional`` does.

    Args:
        input: volumes of shape (N, C, D, H, W).
        kernel_size: the size of a window.
        stride: the distance of windows; by default their size.
        padding: the width of the border around a volume.
        dilation: the distance of the elements of a window.
        ceil_mode: whether sizes are rounded up.
    """
    options = {"padding": padding, "dilation": dilation, "ceil_mode": ceil_mode}
    return functional.max_pool3d(input, kernel_size, stride or None, **options)


mkldnn_adaptive_avg_pool2d = functional.adaptive_avg_pool2d


#: Operators whose arguments only the library makes, and what takes their place.
_MISSING = {
    "miopen_ctc_loss": "`torch.ctc_loss` is the loss with its gradient",
    "miopen_rnn": "`torch.lstm`, `gru`, `rnn_tanh` and `rnn_relu` are such networks",
    **dict.fromkeys(
        (
            "fbgemm_linear_fp16_weight",
            "fbgemm_linear_fp16_weight_fp32_activation",
            "fbgemm_linear_int8_weight",
            "fbgemm_linear_int8_weight_fp32_activation",
            "fbgemm_linear_quantize_weight",
            "fbgemm_pack_gemm_matrix_fp16",
            "fbgemm_pack_quantized_matrix",
        ),
        "FBGEMM's packed weights do not exist; weights of float16 and int8 are tensors of these",
    ),
}
globals().update({name: missing_function(name, reason) for name, reason in _MISSING.items()})
