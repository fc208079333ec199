"""ConvMixer: patches, mixed by depthwise and by 1 x 1 convolutions."""

from __future__ import annotations

from collections.abc import Callable

from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


class Residual(nn.Module):
    """A module beside a shortcut."""

    def __init__(self, fn: nn.Module) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, x: Tensor) -> Tensor:
        return self.fn(x) + x


class ConvMixer(nn.Sequential):
    """ConvMixer (https://arxiv.org/abs/2201.09792).

    Input (N, 3, H, W) with H and W at least `patch_size`; output (N, num_classes).

    Args:
        dim: the number of channels.
        depth: the number of blocks.
        kernel_size: the kernel size of the depthwise convolutions, an odd number.
        patch_size: height and width of the patches.
        num_classes: the number of classes.
        activation: makes an activation.
        n_classes: another name of `num_classes`.
    """

    def __init__(
        self,
        dim: int,
        depth: int,
        kernel_size: int = 9,
        patch_size: int = 7,
        num_classes: int = 1000,
        activation: Callable[[], nn.Module] = nn.GELU,
        n_classes: int | None = None,
    ) -> None:
        def with_activation(convolution: nn.Module) -> list[nn.Module]:
            return [convolution, activation(), nn.BatchNorm2d(dim)]

        def block() -> nn.Sequential:
            depthwise = nn.Conv2d(dim, dim, kernel_size, groups=dim, padding=kernel_size // 2)
            pointwise = nn.Conv2d(dim, dim, 1)
            return nn.Sequential(
                Residual(nn.Sequential(*with_activation(depthwise))), *with_activation(pointwise)
            )

        super().__init__(
            *with_activation(nn.Conv2d(3, dim, patch_size, stride=patch_size)),
            *(block() for _ in range(depth)),
            nn.AdaptiveAvgPool2d((1, 1)),
            nn.Flatten(),
            nn.Linear(dim, num_classes if n_classes is None else n_classes),
        )


_convmixer = ModelFamily(__name__, ConvMixer, paper="2201.09792")

# fmt: off
convmixer_1536_20 = _convmixer("convmixer_1536_20",
    "ConvMixer with 1536 channels and 20 blocks: 52 million parameters.",
    1536, 20, kernel_size=9, patch_size=7)
convmixer_768_32_relu = _convmixer("convmixer_768_32_relu",
    "ConvMixer with 768 channels, 32 blocks and rectifiers: 21 million parameters.",
    768, 32, kernel_size=7, patch_size=7, activation=nn.ReLU)
convmixer_1024_20 = _convmixer("convmixer_1024_20",
    "ConvMixer with 1024 channels, 20 blocks and large patches: 24 million parameters.",
    1024, 20, kernel_size=9, patch_size=14)
