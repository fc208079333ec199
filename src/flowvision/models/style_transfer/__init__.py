"""Style transfer: photos as a painter would have seen them."""

from flowvision.models.style_transfer.stylenet import (
    FastNeuralStyle as FastNeuralStyle,
    fast_neural_style as fast_neural_style,
    neural_style_transfer as neural_style_transfer,
)
