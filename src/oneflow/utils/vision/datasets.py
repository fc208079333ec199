"""Image data sets, read from local files."""

from oneflow.data.vision.annotated import (
    CocoCaptions as CocoCaptions,
    CocoDetection as CocoDetection,
    VOCDetection as VOCDetection,
    VOCSegmentation as VOCSegmentation,
)
from oneflow.data.vision.cifar import CIFAR10 as CIFAR10, CIFAR100 as CIFAR100
from oneflow.data.vision.datasets import (
    DatasetFolder as DatasetFolder,
    ImageFolder as ImageFolder,
    VisionDataset as VisionDataset,
)
from oneflow.data.vision.imagenet import ImageNet as ImageNet
from oneflow.data.vision.mnist import MNIST as MNIST, FashionMNIST as FashionMNIST
