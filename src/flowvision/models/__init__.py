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
from flowvision.models.densenet import (
    DenseNet as DenseNet,
    densenet121 as densenet121,
    densenet161 as densenet161,
    densenet169 as densenet169,
    densenet201 as densenet201,
)
from flowvision.models.efficientnet import (
    EfficientNet as EfficientNet,
    efficientnet_b0 as efficientnet_b0,
    efficientnet_b1 as efficientnet_b1,
    efficientnet_b2 as efficientnet_b2,
    efficientnet_b3 as efficientnet_b3,
    efficientnet_b4 as efficientnet_b4,
    efficientnet_b5 as efficientnet_b5,
    efficientnet_b6 as efficientnet_b6,
    efficientnet_b7 as efficientnet_b7,
)
from flowvision.models.ghostnet import ghostnet as ghostnet
from flowvision.models.googlenet import (
    GoogLeNet as GoogLeNet,
    GoogLeNetOutputs as GoogLeNetOutputs,
    googlenet as googlenet,
)
from flowvision.models.inception_v3 import (
    Inception3 as Inception3,
    InceptionOutputs as InceptionOutputs,
    inception_v3 as inception_v3,
)
from flowvision.models.mlp_mixer import (
    MixerBlock as MixerBlock,
    MlpMixer as MlpMixer,
    SpatialGatingBlock as SpatialGatingBlock,
    SpatialGatingUnit as SpatialGatingUnit,
    gmlp_b16_224 as gmlp_b16_224,
    gmlp_s16_224 as gmlp_s16_224,
    gmlp_ti16_224 as gmlp_ti16_224,
    mlp_mixer_b16_224 as mlp_mixer_b16_224,
    mlp_mixer_b16_224_in21k as mlp_mixer_b16_224_in21k,
    mlp_mixer_b16_224_miil as mlp_mixer_b16_224_miil,
    mlp_mixer_b16_224_miil_in21k as mlp_mixer_b16_224_miil_in21k,
    mlp_mixer_b32_224 as mlp_mixer_b32_224,
    mlp_mixer_l16_224 as mlp_mixer_l16_224,
    mlp_mixer_l16_224_in21k as mlp_mixer_l16_224_in21k,
    mlp_mixer_l32_224 as mlp_mixer_l32_224,
    mlp_mixer_s16_224 as mlp_mixer_s16_224,
    mlp_mixer_s32_224 as mlp_mixer_s32_224,
)
from flowvision.models.mnasnet import (
    MNASNet as MNASNet,
    mnasnet0_5 as mnasnet0_5,
    mnasnet0_75 as mnasnet0_75,
    mnasnet1_0 as mnasnet1_0,
    mnasnet1_3 as mnasnet1_3,
)
from flowvision.models.mobilenet_v2 import MobileNetV2 as MobileNetV2, mobilenet_v2 as mobilenet_v2
from flowvision.models.mobilenet_v3 import (
    MobileNetV3 as MobileNetV3,
    mobilenet_v3_large as mobilenet_v3_large,
    mobilenet_v3_small as mobilenet_v3_small,
)
from flowvision.models.regnet import (
    RegNet as RegNet,
    regnet_x_1_6gf as regnet_x_1_6gf,
    regnet_x_3_2gf as regnet_x_3_2gf,
    regnet_x_8gf as regnet_x_8gf,
    regnet_x_16gf as regnet_x_16gf,
    regnet_x_32gf as regnet_x_32gf,
    regnet_x_400mf as regnet_x_400mf,
    regnet_x_800mf as regnet_x_800mf,
    regnet_y_1_6gf as regnet_y_1_6gf,
    regnet_y_3_2gf as regnet_y_3_2gf,
    regnet_y_8gf as regnet_y_8gf,
    regnet_y_16gf as regnet_y_16gf,
    regnet_y_32gf as regnet_y_32gf,
    regnet_y_128gf as regnet_y_128gf,
    regnet_y_400mf as regnet_y_400mf,
    regnet_y_800mf as regnet_y_800mf,
)
from flowvision.models.res2net import (
    Bottle2neck as Bottle2neck,
    Res2Net as Res2Net,
    res2net50_14w_8s as res2net50_14w_8s,
    res2net50_26w_4s as res2net50_26w_4s,
    res2net50_26w_6s as res2net50_26w_6s,
    res2net50_26w_8s as res2net50_26w_8s,
    res2net50_48w_2s as res2net50_48w_2s,
    res2net101_26w_4s as res2net101_26w_4s,
)
from flowvision.models.res_mlp import (
    Affine as Affine,
    CrossPatchLinear as CrossPatchLinear,
    ResMLP as ResMLP,
    resmlp_12_224 as resmlp_12_224,
    resmlp_12_224_dino as resmlp_12_224_dino,
    resmlp_12_distilled_224 as resmlp_12_distilled_224,
    resmlp_24_224 as resmlp_24_224,
    resmlp_24_224_dino as resmlp_24_224_dino,
    resmlp_24_distilled_224 as resmlp_24_distilled_224,
    resmlp_36_224 as resmlp_36_224,
    resmlp_36_distilled_224 as resmlp_36_distilled_224,
    resmlp_big_24_224 as resmlp_big_24_224,
    resmlp_big_24_224_in22k_to_1k as resmlp_big_24_224_in22k_to_1k,
    resmlp_big_24_distilled_224 as resmlp_big_24_distilled_224,
)
from flowvision.models.resnest import (
    resnest50 as resnest50,
    resnest101 as resnest101,
    resnest200 as resnest200,
    resnest269 as resnest269,
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
from flowvision.models.senet import (
    SENet as SENet,
    se_resnet50 as se_resnet50,
    se_resnet101 as se_resnet101,
    se_resnet152 as se_resnet152,
    se_resnext50_32x4d as se_resnext50_32x4d,
    se_resnext101_32x4d as se_resnext101_32x4d,
    senet154 as senet154,
)
from flowvision.models.shufflenet_v2 import (
    ShuffleNetV2 as ShuffleNetV2,
    shufflenet_v2_x0_5 as shufflenet_v2_x0_5,
    shufflenet_v2_x1_0 as shufflenet_v2_x1_0,
    shufflenet_v2_x1_5 as shufflenet_v2_x1_5,
    shufflenet_v2_x2_0 as shufflenet_v2_x2_0,
)
from flowvision.models.squeezenet import (
    SqueezeNet as SqueezeNet,
    squeezenet1_0 as squeezenet1_0,
    squeezenet1_1 as squeezenet1_1,
)
from flowvision.models.swin_transformer import (
    BasicLayer as BasicLayer,
    PatchReduction as PatchReduction,
    SwinTransformer as SwinTransformer,
    SwinTransformerBlock as SwinTransformerBlock,
    WindowAttention as WindowAttention,
    shift_mask as shift_mask,
    swin_base_patch4_window7_224 as swin_base_patch4_window7_224,
    swin_base_patch4_window7_224_in22k_to_1k as swin_base_patch4_window7_224_in22k_to_1k,
    swin_base_patch4_window12_384 as swin_base_patch4_window12_384,
    swin_base_patch4_window12_384_in22k_to_1k as swin_base_patch4_window12_384_in22k_to_1k,
    swin_large_patch4_window7_224_in22k_to_1k as swin_large_patch4_window7_224_in22k_to_1k,
    swin_large_patch4_window12_384_in22k_to_1k as swin_large_patch4_window12_384_in22k_to_1k,
    swin_small_patch4_window7_224 as swin_small_patch4_window7_224,
    swin_tiny_patch4_window7_224 as swin_tiny_patch4_window7_224,
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
