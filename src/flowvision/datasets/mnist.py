"""MNIST and Fashion-MNIST."""

from oneflow.utils.vision.datasets import (
    MNIST as MNIST,
    FashionMNIST as FashionMNIST,
)
