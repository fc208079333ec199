"""Image data sets in their published file formats."""

from flowvision.datasets.cifar import CIFAR10 as CIFAR10, CIFAR100 as CIFAR100
from flowvision.datasets.coco import CocoCaptions as CocoCaptions, CocoDetection as CocoDetection
from flowvision.datasets.folder import DatasetFolder as DatasetFolder, ImageFolder as ImageFolder
from flowvision.datasets.imagenet import ImageNet as ImageNet
from flowvision.datasets.mnist import MNIST as MNIST, FashionMNIST as FashionMNIST
from flowvision.datasets.vision import VisionDataset as VisionDataset
from flowvision.datasets.voc import (
    VOCDetection as VOCDetection,
    VOCSegmentation as VOCSegmentation,
)
