"""Dynamic convolution (https://arxiv.org/abs/1912.03458)."""

from __future__ import annotations

import oneflow as flow
from oneflow import Tensor, nn


class attention2d(nn.Module):
    """The weights of `K` kernels for each image.

    Input (N, in_planes, H, W), output (N, K), positive numbers that add to 1.

    Args:
        in_planes: channels of the input.
        ratios: channels of the hidden layer, as a share of `in_planes`.
        K: the number of kernels.
        temperature: the number by which logits are divided; 1, or more in the beginning of a
            training.

    Raises:
        ValueError: if the temperature is not 1 plus a multiple of 3.
    """

    def __init__(self, in_planes: int, ratios: float, K: int, temperature: int) -> None:
        if temperature < 1 or temperature % 3 != 1:
            raise ValueError(f"`temperature` must be 1, 4, 7, ..., got {temperature}")
        super().__init__()
        hidden = int(in_planes * ratios) + 1 if in_planes != 3 else K
        self.fc1 = nn.Conv2d(in_planes, hidden, 1, bias=False)
        self.fc2 = nn.Conv2d(hidden, K, 1)
        self.temperature = temperature

    def update_temperature(self) -> None:
        """Lower the temperature by 3, unless it is 1."""
        if self.temperature > 1:
            self.temperature -= 3

    def forward(self, x: Tensor) -> Tensor:
        hidden = nn.functional.relu(self.fc1(x.mean((2, 3), keepdim=True)))
        return (self.fc2(hidden).flatten(1) / self.temperature).softmax(1)


class Dynamic_conv2d(nn.Module):
    """A convolution whose kernel is, for each image, a mixture of `K` kernels.

    Input (N, in_planes, H, W); output as of `Conv2d`.

    Args:
        in_planes: channels of the input.
        out_planes: channels of the output.
        kernel_size: height and width of the kernels.
        ratio: see `attention2d`.
        stride: the stride of the convolution.
        padding: the padding of the convolution.
        dilation: the dilation of the convolution.
        groups: the number of groups of the convolution.
        bias: whether there is a bias, a mixture like the kernel.
        K: the number of kernels.
        temperature: see `attention2d`.

    Raises:
        ValueError: if `groups` does not divide `in_planes`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import Dynamic_conv2d
        >>> Dynamic_conv2d(8, 16, 3, padding=1)(flow.rand(2, 8, 6, 6)).shape
        oneflow.Size([2, 16, 6, 6])
    """

    def __init__(
        self,
        in_planes: int,
        out_planes: int,
        kernel_size: int,
        ratio: float = 0.25,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        K: int = 4,
        temperature: int = 34,
    ) -> None:
        if in_planes % groups:
            raise ValueError(f"`groups` must divide {in_planes} channels, got {groups}")
        super().__init__()
        self.out_planes = out_planes
        self.stride, self.padding = stride, padding
        self.dilation, self.groups = dilation, groups
        self.attention = attention2d(in_planes, ratio, K, temperature)
        kernel_shape = (out_planes, in_planes // groups, kernel_size, kernel_size)
        self.weight = nn.Parameter(flow.empty(K, *kernel_shape))
        self.bias = nn.Parameter(flow.zeros(K, out_planes)) if bias else None
        for kernel in self.weight:
            nn.init.kaiming_uniform_(kernel)

    def update_temperature(self) -> None:
        """Lower the temperature of the mixture; see `attention2d`."""
        self.attention.update_temperature()

    def forward(self, x: Tensor) -> Tensor:
        batch, channels, *size = x.shape
        attention = self.attention(x)
        weight = flow.einsum("nk,koihw->noihw", attention, self.weight).flatten(0, 1)
        bias = None if self.bias is None else (attention @ self.bias).flatten()
        # Each image is a group of one convolution.
        y = nn.functional.conv2d(
            x.reshape(1, batch * channels, *size),
            weight,
            bias,
            self.stride,
            self.padding,
            self.dilation,
            self.groups * batch,
        )
        return y.reshape(batch, self.out_planes, *y.shape[2:])
