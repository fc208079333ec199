"""The model zoo: a factory per model, and `ModelCreator` to find them by name."""

from flowvision.models.alexnet import AlexNet as AlexNet, alexnet as alexnet
from flowvision.models.creator import ModelCreator as ModelCreator
from flowvision.models.deit import (
    deit_base_distilled_patch16_224 as deit_base_distilled_patch16_224,
    deit_base_distilled_patch16_384 as deit_base_distilled_patch16_384,
    deit_base_patch16_224 as deit_base_patch16_224,
    deit_base_patch16_384 as deit_base_patch16_384,
    deit_small_distilled_patch16_224 as deit_small_distilled_patch16_224,
    deit_small_patch16_224 as deit_small_patch16_224,
    deit_tiny_distilled_patch16_224 as deit_tiny_distilled_patch16_224,
    deit_tiny_patch16_224 as deit_tiny_patch16_224,
)
from flowvision.models.mobilenet_v2 import MobileNetV2 as MobileNetV2, mobilenet_v2 as mobilenet_v2
from flowvision.models.mobilenet_v3 import (
    MobileNetV3 as MobileNetV3,
    mobilenet_v3_large as mobilenet_v3_large,
    mobilenet_v3_small as mobilenet_v3_small,
)
from flowvision.models.resnet import (
    ResNet as ResNet,
    resnet18 as resnet18,
    resnet34 as resnet34,
    resnet50 as resnet50,
    resnet101 as resnet101,
    resnet152 as resnet152,
    resnext50_32x4d as resnext50_32x4d,
    resnext101_32x8d as resnext101_32x8d,
    wide_resnet50_2 as wide_resnet50_2,
    wide_resnet101_2 as wide_resnet101_2,
)
from flowvision.models.squeezenet import (
    SqueezeNet as SqueezeNet,
    squeezenet1_0 as squeezenet1_0,
    squeezenet1_1 as squeezenet1_1,
)
from flowvision.models.vgg import (
    VGG as VGG,
    vgg11 as vgg11,
    vgg11_bn as vgg11_bn,
    vgg13 as vgg13,
    vgg13_bn as vgg13_bn,
    vgg16 as vgg16,
    vgg16_bn as vgg16_bn,
    vgg19 as vgg19,
    vgg19_bn as vgg19_bn,
)
from flowvision.models.vision_transformer import (
    VisionTransformer as VisionTransformer,
    resize_pos_embed as resize_pos_embed,
    vit_base_patch8_224 as vit_base_patch8_224,
    vit_base_patch8_224_in21k as vit_base_patch8_224_in21k,
    vit_base_patch16_224 as vit_base_patch16_224,
    vit_base_patch16_224_in21k as vit_base_patch16_224_in21k,
    vit_base_patch16_224_miil as vit_base_patch16_224_miil,
    vit_base_patch16_224_miil_in21k as vit_base_patch16_224_miil_in21k,
    vit_base_patch16_224_sam as vit_base_patch16_224_sam,
    vit_base_patch16_384 as vit_base_patch16_384,
    vit_base_patch32_224 as vit_base_patch32_224,
    vit_base_patch32_224_in21k as vit_base_patch32_224_in21k,
    vit_base_patch32_224_sam as vit_base_patch32_224_sam,
    vit_base_patch32_384 as vit_base_patch32_384,
    vit_giant_patch14_224 as vit_giant_patch14_224,
    vit_gigantic_patch14_224 as vit_gigantic_patch14_224,
    vit_huge_patch14_224 as vit_huge_patch14_224,
    vit_huge_patch14_224_in21k as vit_huge_patch14_224_in21k,
    vit_large_patch16_224 as vit_large_patch16_224,
    vit_large_patch16_224_in21k as vit_large_patch16_224_in21k,
    vit_large_patch16_384 as vit_large_patch16_384,
    vit_large_patch32_224 as vit_large_patch32_224,
    vit_large_patch32_224_in21k as vit_large_patch32_224_in21k,
    vit_large_patch32_384 as vit_large_patch32_384,
    vit_small_patch16_224 as vit_small_patch16_224,
    vit_small_patch16_224_in21k as vit_small_patch16_224_in21k,
    vit_small_patch16_384 as vit_small_patch16_384,
    vit_small_patch32_224 as vit_small_patch32_224,
    vit_small_patch32_224_in21k as vit_small_patch32_224_in21k,
    vit_small_patch32_384 as vit_small_patch32_384,
    vit_tiny_patch16_224 as vit_tiny_patch16_224,
    vit_tiny_patch16_224_in21k as vit_tiny_patch16_224_in21k,
    vit_tiny_patch16_384 as vit_tiny_patch16_384,
)
