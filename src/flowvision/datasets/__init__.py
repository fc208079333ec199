"""Image data sets in their published file formats."""

from flowvision.datasets.caltech import Caltech101 as Caltech101, Caltech256 as Caltech256
from flowvision.datasets.celeba import CelebA as CelebA
from flowvision.datasets.cifar import CIFAR10 as CIFAR10, CIFAR100 as CIFAR100
from flowvision.datasets.cityscapes import Cityscapes as Cityscapes
from flowvision.datasets.clevr import CLEVRClassification as CLEVRClassification
from flowvision.datasets.coco import CocoCaptions as CocoCaptions, CocoDetection as CocoDetection
from flowvision.datasets.country211 import Country211 as Country211
from flowvision.datasets.dtd import DTD as DTD
from flowvision.datasets.eurosat import EuroSAT as EuroSAT
from flowvision.datasets.fakedata import FakeData as FakeData
from flowvision.datasets.fer2013 import FER2013 as FER2013
from flowvision.datasets.fgvc_aircraft import FGVCAircraft as FGVCAircraft
from flowvision.datasets.flickr import Flickr8k as Flickr8k, Flickr30k as Flickr30k
from flowvision.datasets.flowers102 import Flowers102 as Flowers102
from flowvision.datasets.folder import DatasetFolder as DatasetFolder, ImageFolder as ImageFolder
from flowvision.datasets.food101 import Food101 as Food101
from flowvision.datasets.gtsrb import GTSRB as GTSRB
from flowvision.datasets.imagenet import ImageNet as ImageNet
from flowvision.datasets.inaturalist import INaturalist as INaturalist
from flowvision.datasets.kitti import Kitti as Kitti
from flowvision.datasets.lfw import LFWPairs as LFWPairs, LFWPeople as LFWPeople
from flowvision.datasets.lsun import LSUN as LSUN, LSUNClass as LSUNClass
from flowvision.datasets.mnist import MNIST as MNIST, FashionMNIST as FashionMNIST
from flowvision.datasets.omniglot import Omniglot as Omniglot
from flowvision.datasets.oxford_iiit_pet import OxfordIIITPet as OxfordIIITPet
from flowvision.datasets.pcam import PCAM as PCAM
from flowvision.datasets.phototour import PhotoTour as PhotoTour
from flowvision.datasets.places365 import Places365 as Places365
from flowvision.datasets.rendered_sst2 import RenderedSST2 as RenderedSST2
from flowvision.datasets.sbd import SBDataset as SBDataset
from flowvision.datasets.sbu import SBU as SBU
from flowvision.datasets.semeion import SEMEION as SEMEION
from flowvision.datasets.stanford_cars import StanfordCars as StanfordCars
from flowvision.datasets.stl10 import STL10 as STL10
from flowvision.datasets.sun397 import SUN397 as SUN397
from flowvision.datasets.svhn import SVHN as SVHN
from flowvision.datasets.usps import USPS as USPS
from flowvision.datasets.vision import VisionDataset as VisionDataset
from flowvision.datasets.voc import (
    VOCDetection as VOCDetection,
    VOCSegmentation as VOCSegmentation,
)
from flowvision.datasets.widerface import WIDERFace as WIDERFace
