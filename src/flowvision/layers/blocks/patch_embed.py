"""Patch embedding: an image as a sequence of vectors."""

from __future__ import annotations

from collections.abc import Callable

from oneflow import Tensor, nn


def to_2tuple(x: int | tuple[int, int]) -> tuple[int, int]:
    """Return `x` twice, or as it is if it is a pair.

    Example:
        >>> from flowvision.layers.blocks.patch_embed import to_2tuple
        >>> to_2tuple(3), to_2tuple((2, 4))
        ((3, 3), (2, 4))
    """
    if isinstance(x, int):
        return (x, x)
    height, width = x
    return (height, width)


class PatchEmbed(nn.Module):
    """Cuts an image into patches and maps each linearly to a vector.

    Input (N, in_chans, H, W) of exactly the size `img_size`; output (N, patches, embed_dim), row by
    row, or (N, embed_dim, H / patch_size, W / patch_size) if `flatten` is false.

    Args:
        img_size: height and width of the image, or both at once.
        patch_size: height and width of a patch, or both at once.
        in_chans: the number of channels of the image.
        embed_dim: the length of a vector.
        norm_layer: makes the normalisation of the vectors from `embed_dim`; by default there is
            none.
        flatten: whether the result is a sequence.

    Attributes:
        grid_size: the number of patches vertically and horizontally.
        num_patches: the number of patches.

    Raises:
        ValueError: if the image has another size than `img_size`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import PatchEmbed
        >>> PatchEmbed(img_size=32, patch_size=8, embed_dim=24)(flow.randn(2, 3, 32, 32)).shape
        oneflow.Size([2, 16, 24])
    """

    def __init__(
        self,
        img_size: int | tuple[int, int] = 224,
        patch_size: int | tuple[int, int] = 16,
        in_chans: int = 3,
        embed_dim: int = 768,
        norm_layer: Callable[[int], nn.Module] | None = None,
        flatten: bool = True,
    ) -> None:
        super().__init__()
        self.img_size = to_2tuple(img_size)
        self.patch_size = to_2tuple(patch_size)
        self.grid_size = (
            self.img_size[0] // self.patch_size[0],
            self.img_size[1] // self.patch_size[1],
        )
        self.num_patches = self.grid_size[0] * self.grid_size[1]
        self.flatten = flatten
        self.proj = nn.Conv2d(in_chans, embed_dim, self.patch_size, stride=self.patch_size)
        self.norm = norm_layer(embed_dim) if norm_layer else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        check_image_size(x, self.img_size)
        x = self.proj(x)
        if self.flatten:
            x = x.flatten(2).transpose(1, 2)
        return self.norm(x)


def check_image_size(images: Tensor, expected: tuple[int, int]) -> None:
    """Raise a ValueError unless `images` of shape (N, C, H, W) have the expected size."""
    if images.ndim != 4 or tuple(images.shape[2:]) != expected:
        raise ValueError(
            f"the model was made for images of shape (N, C, {expected[0]}, {expected[1]}), "
            f"not {tuple(images.shape)}; pass `img_size` to the model, or resize them"
        )
