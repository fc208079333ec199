"""OneFlow's older name of the pixel shuffle with two factors."""

from oneflow.nn.modules.patches import PixelShuffle as PixelShuffle, PixelShuffle as PixelShufflev2

__all__ = ["PixelShuffle", "PixelShufflev2"]
