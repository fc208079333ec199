"""The model zoo: a factory per model, and `ModelCreator` to find them by name."""

# isort: off
# fmt: off
from flowvision.layers.blocks.mlp import GatedMlp
from flowvision.layers.blocks.patch_embed import PatchEmbed
from flowvision.layers.blocks.stage import Stage
from flowvision.layers.blocks.window import window_partition, window_reverse
from flowvision.layers.regularization import DropPath, drop_path
from flowvision.layers.weight_init import lecun_normal_
from flowvision.models import _utils as _utils, detection, segmentation
from flowvision.models.alexnet import AlexNet
from flowvision.models.cait import CaiT, ClassAttentionLayer, TalkingHeadAttention
from flowvision.models.conv_mixer import ConvMixer
from flowvision.models.convnext import ConvNeXt, ConvNeXtBlock, ConvNeXtIsotropic, LayerNorm
from flowvision.models.crossformer import (
    CrossFormer, CrossFormerBlock, CrossScaleConvs, CrossScaleEmbedding, DynamicPosBias,
    GroupAttention, PatchMerging,
)
from flowvision.models.cswin import (
    CSWinBlock, CSWinTransformer, LePEAttention, Merge_Block, Rearrange, img2windows, windows2img,
)
from flowvision.models.deit_III import (
    Attention, Block, Block_paralx2, DeiT3, Layer_scale_init_Block, Layer_scale_init_Block_paralx2,
    hMLP_stem, vit_models,
)
from flowvision.models.densenet import DenseNet
from flowvision.models.dla import DLA, BottleneckX, Root, Tree
from flowvision.models.efficientnet import EfficientNet
from flowvision.models.face_recognition import iresnet50, iresnet101
from flowvision.models.fan import (
    FAN, ChannelProcessing, ClassAttentionBlock, ClassAttn, ClassifierHead, ConvMlp, ConvNeXtStage,
    ConvPatchEmbed, DWConv, FANBlock, FANBlock_SE, HybridEmbed, LayerNorm2d, LocalMlp, Mlp, MlpOri,
    OverlapPatchEmbed, PositionalEncodingFourier, SEMlp, SqueezeExcite, TokenMixing,
    checkpoint_filter_fn, conv3x3, sigmoid, trunc_normal_,
)
from flowvision.models.fan_hybrid import HybridBackbone, HybridBlock, HybridStage
from flowvision.models.genet import (
    BN, RELU, AdaptiveAvgPool, ConvDW, ConvKX, Flatten, Linear, MaxPool, MultiSumBlock, PlainNet,
    PlainNetBasicBlockClass, ResBlock, Sequential, SuperResK1DW, SuperResK1DWK1, SuperResK1KX,
    SuperResK1KXK1, SuperResKXKX, fuse_bn, remove_bn_in_superblock,
)
from flowvision.models.googlenet import (
    GoogLeNet, GoogLeNetOutputs, _GoogLeNetOutputs as _GoogLeNetOutputs,
)
from flowvision.models.helpers import (
    make_divisible, named_apply, named_modules, to_1tuple, to_2tuple, to_3tuple, to_4tuple,
)
from flowvision.models.hrnet import HighResolutionModule, HighResolutionNet
from flowvision.models.inception_v3 import (
    Inception3, InceptionOutputs, _InceptionOutputs as _InceptionOutputs,
)
from flowvision.models.levit import (
    AttentionSubsample, BN_Linear, Conv2d_BN, LeViT, LevitAttention, Linear_BN, Residual, Subsample,
    b16, model_factory,
)
from flowvision.models.mlp_mixer import MixerBlock, MlpMixer, SpatialGatingBlock, SpatialGatingUnit
from flowvision.models.mnasnet import MNASNet
from flowvision.models.mobilenet_v2 import MobileNetV2
from flowvision.models.mobilenet_v3 import MobileNetV3
from flowvision.models.mobilevit import (
    Conv2d, ConvLayer, GlobalPool, InvertedResidual, LinearLayer, MobileViT, MobileViTBlock,
    MultiHeadAttention, TransformerEncoder,
)
from flowvision.models.poolformer import (
    GroupNorm, LayerNormChannel, PoolFormer, PoolFormerBlock, Pooling, basic_blocks,
)
from flowvision.models.pvt import PyramidBlock, PyramidVisionTransformer
from flowvision.models.regionvit import (
    AttentionWithRelPos, ChannelNorm, ConvAttBlock, OverlappingPatches, Projection,
    R2LAttentionPlusFFN, RegionViT, convert_to_flatten_layout, convert_to_spatial_layout,
)
from flowvision.models.registry import ModelCreator
from flowvision.models.regnet import RegNet
from flowvision.models.res2net import Bottle2neck, Res2Net
from flowvision.models.res_mlp import Affine, CrossPatchLinear, ResMLP, layers_scale_mlp_blocks
from flowvision.models.resnet import BasicBlock, Bottleneck, ResNet, conv1x1
from flowvision.models.rexnet import SE, ConvBNAct, ConvBNSiLU, RexNetV1
from flowvision.models.rexnet_lite import LinearBottleneck, ReXNetV1_lite
from flowvision.models.senet import SENet
from flowvision.models.shufflenet_v2 import ShuffleNetV2
from flowvision.models.squeezenet import SqueezeNet
from flowvision.models.style_transfer import (
    FastNeuralStyle, fast_neural_style, neural_style_transfer,
)
from flowvision.models.swin_transformer import (
    BasicLayer, PatchReduction, SwinTransformer, SwinTransformerBlock, WindowAttention, shift_mask,
)
from flowvision.models.uniformer import (
    CBlock, CMlp, SABlock, UniFormer, head_embedding, middle_embedding,
)
from flowvision.models.utils import load_state_dict_from_url
from flowvision.models.van import VAN, AttentionModule, SpatialAttention
from flowvision.models.vgg import VGG
from flowvision.models.vision_transformer import VisionTransformer, resize_pos_embed
from flowvision.ops._utils import pair

# Generated from the function registry by `tools/make_facades.py` (make stubs).
from flowvision.models.alexnet import alexnet
from flowvision.models.cait import (
    cait_M36_384, cait_M48_448, cait_S24_224, cait_S24_384, cait_S36_384, cait_XS24_384,
)
from flowvision.models.conv_mixer import convmixer_768_32_relu, convmixer_1024_20, convmixer_1536_20
from flowvision.models.convnext import (
    convnext_base_224, convnext_base_224_22k, convnext_base_224_22k_to_1k, convnext_base_384,
    convnext_base_384_22k_to_1k, convnext_iso_base_224, convnext_iso_large_224,
    convnext_iso_small_224, convnext_large_224, convnext_large_224_22k,
    convnext_large_224_22k_to_1k, convnext_large_384, convnext_large_384_22k_to_1k,
    convnext_small_224, convnext_tiny_224, convnext_xlarge_224_22k, convnext_xlarge_224_22k_to_1k,
    convnext_xlarge_384_22k_to_1k,
)
from flowvision.models.crossformer import (
    crossformer_base_patch4_group7_224, crossformer_large_patch4_group7_224,
    crossformer_small_patch4_group7_224, crossformer_tiny_patch4_group7_224,
)
from flowvision.models.cswin import (
    cswin_base_224, cswin_base_384, cswin_large_224, cswin_large_384, cswin_small_224,
    cswin_tiny_224,
)
from flowvision.models.deit import (
    deit_base_distilled_patch16_224, deit_base_distilled_patch16_384, deit_base_patch16_224,
    deit_base_patch16_384, deit_small_distilled_patch16_224, deit_small_patch16_224,
    deit_tiny_distilled_patch16_224, deit_tiny_patch16_224,
)
from flowvision.models.deit_III import (
    deit_base_patch16_LS_224, deit_base_patch16_LS_224_in21k, deit_base_patch16_LS_384,
    deit_base_patch16_LS_384_in21k, deit_huge_patch14_LS_224, deit_huge_patch14_LS_224_in21k,
    deit_large_patch16_LS_224, deit_large_patch16_LS_224_in21k, deit_large_patch16_LS_384,
    deit_large_patch16_LS_384_in21k, deit_small_patch16_LS_224, deit_small_patch16_LS_224_in21k,
    deit_small_patch16_LS_384, deit_small_patch16_LS_384_in21k,
)
from flowvision.models.densenet import densenet121, densenet161, densenet169, densenet201
from flowvision.models.dla import (
    dla34, dla46_c, dla46x_c, dla60, dla60x, dla60x_c, dla102, dla102x, dla102x2, dla169,
)
from flowvision.models.efficientnet import (
    efficientnet_b0, efficientnet_b1, efficientnet_b2, efficientnet_b3, efficientnet_b4,
    efficientnet_b5, efficientnet_b6, efficientnet_b7,
)
from flowvision.models.fan import (
    fan_base_16_p4_hybrid, fan_base_16_p4_hybrid_in22k_1k, fan_base_16_p4_hybrid_in22k_1k_384,
    fan_base_18_p16_224, fan_large_16_p4_hybrid, fan_large_16_p4_hybrid_in22k_1k,
    fan_large_16_p4_hybrid_in22k_1k_384, fan_large_24_p16_224, fan_small_12_p4_hybrid,
    fan_small_12_p16_224, fan_tiny_8_p4_hybrid, fan_tiny_12_p16_224,
)
from flowvision.models.genet import genet_large, genet_normal, genet_small
from flowvision.models.ghostnet import ghostnet
from flowvision.models.googlenet import googlenet
from flowvision.models.hrnet import (
    hrnet_w18, hrnet_w18_small, hrnet_w18_small_v2, hrnet_w30, hrnet_w32, hrnet_w40, hrnet_w44,
    hrnet_w48, hrnet_w64,
)
from flowvision.models.inception_v3 import inception_v3
from flowvision.models.levit import levit_128, levit_128s, levit_192, levit_256, levit_384
from flowvision.models.mlp_mixer import (
    gmlp_b16_224, gmlp_s16_224, gmlp_ti16_224, mlp_mixer_b16_224, mlp_mixer_b16_224_in21k,
    mlp_mixer_b16_224_miil, mlp_mixer_b16_224_miil_in21k, mlp_mixer_b32_224, mlp_mixer_l16_224,
    mlp_mixer_l16_224_in21k, mlp_mixer_l32_224, mlp_mixer_s16_224, mlp_mixer_s32_224,
)
from flowvision.models.mnasnet import mnasnet0_5, mnasnet0_75, mnasnet1_0, mnasnet1_3
from flowvision.models.mobilenet_v2 import mobilenet_v2
from flowvision.models.mobilenet_v3 import mobilenet_v3_large, mobilenet_v3_small
from flowvision.models.mobilevit import mobilevit_small, mobilevit_x_small, mobilevit_xx_small
from flowvision.models.poolformer import (
    poolformer_m36, poolformer_m48, poolformer_s12, poolformer_s24, poolformer_s36,
)
from flowvision.models.pvt import pvt_large, pvt_medium, pvt_small, pvt_tiny
from flowvision.models.regionvit import (
    regionvit_base_224, regionvit_base_w14_224, regionvit_base_w14_peg_224, regionvit_medium_224,
    regionvit_small_224, regionvit_small_w14_224, regionvit_small_w14_peg_224, regionvit_tiny_224,
)
from flowvision.models.regnet import (
    regnet_x_1_6gf, regnet_x_3_2gf, regnet_x_8gf, regnet_x_16gf, regnet_x_32gf, regnet_x_400mf,
    regnet_x_800mf, regnet_y_1_6gf, regnet_y_3_2gf, regnet_y_8gf, regnet_y_16gf, regnet_y_32gf,
    regnet_y_128gf, regnet_y_400mf, regnet_y_800mf,
)
from flowvision.models.res2net import (
    res2net50_14w_8s, res2net50_26w_4s, res2net50_26w_6s, res2net50_26w_8s, res2net50_48w_2s,
    res2net101_26w_4s,
)
from flowvision.models.res_mlp import (
    resmlp_12_224, resmlp_12_224_dino, resmlp_12_distilled_224, resmlp_24_224, resmlp_24_224_dino,
    resmlp_24_distilled_224, resmlp_36_224, resmlp_36_distilled_224, resmlp_big_24_224,
    resmlp_big_24_224_in22k_to_1k, resmlp_big_24_distilled_224,
)
from flowvision.models.resnest import resnest50, resnest101, resnest200, resnest269
from flowvision.models.resnet import (
    resnet18, resnet34, resnet50, resnet101, resnet152, resnext50_32x4d, resnext101_32x8d,
    wide_resnet50_2, wide_resnet101_2,
)
from flowvision.models.rexnet import (
    rexnetv1_1_0, rexnetv1_1_3, rexnetv1_1_5, rexnetv1_2_0, rexnetv1_3_0,
)
from flowvision.models.rexnet_lite import (
    rexnet_lite_1_0, rexnet_lite_1_3, rexnet_lite_1_5, rexnet_lite_2_0,
)
from flowvision.models.senet import (
    se_resnet50, se_resnet101, se_resnet152, se_resnext50_32x4d, se_resnext101_32x4d, senet154,
)
from flowvision.models.shufflenet_v2 import (
    shufflenet_v2_x0_5, shufflenet_v2_x1_0, shufflenet_v2_x1_5, shufflenet_v2_x2_0,
)
from flowvision.models.squeezenet import squeezenet1_0, squeezenet1_1
from flowvision.models.swin_transformer import (
    swin_base_patch4_window7_224, swin_base_patch4_window7_224_in22k_to_1k,
    swin_base_patch4_window12_384, swin_base_patch4_window12_384_in22k_to_1k,
    swin_large_patch4_window7_224_in22k_to_1k, swin_large_patch4_window12_384_in22k_to_1k,
    swin_small_patch4_window7_224, swin_tiny_patch4_window7_224,
)
from flowvision.models.uniformer import (
    uniformer_base, uniformer_base_ls, uniformer_small, uniformer_small_plus,
)
from flowvision.models.van import van_base, van_large, van_small, van_tiny
from flowvision.models.vgg import vgg11, vgg11_bn, vgg13, vgg13_bn, vgg16, vgg16_bn, vgg19, vgg19_bn
from flowvision.models.vision_transformer import (
    vit_base_patch8_224, vit_base_patch8_224_in21k, vit_base_patch16_224,
    vit_base_patch16_224_in21k, vit_base_patch16_224_miil, vit_base_patch16_224_miil_in21k,
    vit_base_patch16_224_sam, vit_base_patch16_384, vit_base_patch32_224,
    vit_base_patch32_224_in21k, vit_base_patch32_224_sam, vit_base_patch32_384,
    vit_giant_patch14_224, vit_gigantic_patch14_224, vit_huge_patch14_224,
    vit_huge_patch14_224_in21k, vit_large_patch16_224, vit_large_patch16_224_in21k,
    vit_large_patch16_384, vit_large_patch32_224, vit_large_patch32_224_in21k,
    vit_large_patch32_384, vit_small_patch16_224, vit_small_patch16_224_in21k,
    vit_small_patch16_384, vit_small_patch32_224, vit_small_patch32_224_in21k,
    vit_small_patch32_384, vit_tiny_patch16_224, vit_tiny_patch16_224_in21k, vit_tiny_patch16_384,
)

# fmt: off
__all__ = [
    "BN", "DLA", "FAN", "RELU", "SE", "VAN", "VGG", "AdaptiveAvgPool", "Affine", "AlexNet",
    "Attention", "AttentionModule", "AttentionSubsample", "AttentionWithRelPos", "BN_Linear",
    "BasicBlock", "BasicLayer", "Block", "Block_paralx2", "Bottle2neck", "Bottleneck",
    "BottleneckX", "CBlock", "CMlp", "CSWinBlock", "CSWinTransformer", "CaiT", "ChannelNorm",
    "ChannelProcessing", "ClassAttentionBlock", "ClassAttentionLayer", "ClassAttn",
    "ClassifierHead", "Conv2d", "Conv2d_BN", "ConvAttBlock", "ConvBNAct", "ConvBNSiLU", "ConvDW",
    "ConvKX", "ConvLayer", "ConvMixer", "ConvMlp", "ConvNeXt", "ConvNeXtBlock", "ConvNeXtIsotropic",
    "ConvNeXtStage", "ConvPatchEmbed", "CrossFormer", "CrossFormerBlock", "CrossPatchLinear",
    "CrossScaleConvs", "CrossScaleEmbedding", "DWConv", "DeiT3", "DenseNet", "DropPath",
    "DynamicPosBias", "EfficientNet", "FANBlock", "FANBlock_SE", "FastNeuralStyle", "Flatten",
    "GatedMlp", "GlobalPool", "GoogLeNet", "GoogLeNetOutputs", "GroupAttention", "GroupNorm",
    "HighResolutionModule", "HighResolutionNet", "HybridBackbone", "HybridBlock", "HybridEmbed",
    "HybridStage", "Inception3", "InceptionOutputs", "InvertedResidual", "LayerNorm", "LayerNorm2d",
    "LayerNormChannel", "Layer_scale_init_Block", "Layer_scale_init_Block_paralx2", "LePEAttention",
    "LeViT", "LevitAttention", "Linear", "LinearBottleneck", "LinearLayer", "Linear_BN", "LocalMlp",
    "MNASNet", "MaxPool", "Merge_Block", "MixerBlock", "Mlp", "MlpMixer", "MlpOri", "MobileNetV2",
    "MobileNetV3", "MobileViT", "MobileViTBlock", "ModelCreator", "MultiHeadAttention",
    "MultiSumBlock", "OverlapPatchEmbed", "OverlappingPatches", "PatchEmbed", "PatchMerging",
    "PatchReduction", "PlainNet", "PlainNetBasicBlockClass", "PoolFormer", "PoolFormerBlock",
    "Pooling", "PositionalEncodingFourier", "Projection", "PyramidBlock",
    "PyramidVisionTransformer", "R2LAttentionPlusFFN", "ReXNetV1_lite", "Rearrange", "RegNet",
    "RegionViT", "Res2Net", "ResBlock", "ResMLP", "ResNet", "Residual", "RexNetV1", "Root",
    "SABlock", "SEMlp", "SENet", "Sequential", "ShuffleNetV2", "SpatialAttention",
    "SpatialGatingBlock", "SpatialGatingUnit", "SqueezeExcite", "SqueezeNet", "Stage", "Subsample",
    "SuperResK1DW", "SuperResK1DWK1", "SuperResK1KX", "SuperResK1KXK1", "SuperResKXKX",
    "SwinTransformer", "SwinTransformerBlock", "TalkingHeadAttention", "TokenMixing",
    "TransformerEncoder", "Tree", "UniFormer", "VisionTransformer", "WindowAttention", "alexnet",
    "b16", "basic_blocks", "cait_M36_384", "cait_M48_448", "cait_S24_224", "cait_S24_384",
    "cait_S36_384", "cait_XS24_384", "checkpoint_filter_fn", "conv1x1", "conv3x3",
    "convert_to_flatten_layout", "convert_to_spatial_layout", "convmixer_768_32_relu",
    "convmixer_1024_20", "convmixer_1536_20", "convnext_base_224", "convnext_base_224_22k",
    "convnext_base_224_22k_to_1k", "convnext_base_384", "convnext_base_384_22k_to_1k",
    "convnext_iso_base_224", "convnext_iso_large_224", "convnext_iso_small_224",
    "convnext_large_224", "convnext_large_224_22k", "convnext_large_224_22k_to_1k",
    "convnext_large_384", "convnext_large_384_22k_to_1k", "convnext_small_224", "convnext_tiny_224",
    "convnext_xlarge_224_22k", "convnext_xlarge_224_22k_to_1k", "convnext_xlarge_384_22k_to_1k",
    "crossformer_base_patch4_group7_224", "crossformer_large_patch4_group7_224",
    "crossformer_small_patch4_group7_224", "crossformer_tiny_patch4_group7_224", "cswin_base_224",
    "cswin_base_384", "cswin_large_224", "cswin_large_384", "cswin_small_224", "cswin_tiny_224",
    "deit_base_distilled_patch16_224", "deit_base_distilled_patch16_384", "deit_base_patch16_224",
    "deit_base_patch16_384", "deit_base_patch16_LS_224", "deit_base_patch16_LS_224_in21k",
    "deit_base_patch16_LS_384", "deit_base_patch16_LS_384_in21k", "deit_huge_patch14_LS_224",
    "deit_huge_patch14_LS_224_in21k", "deit_large_patch16_LS_224",
    "deit_large_patch16_LS_224_in21k", "deit_large_patch16_LS_384",
    "deit_large_patch16_LS_384_in21k", "deit_small_distilled_patch16_224", "deit_small_patch16_224",
    "deit_small_patch16_LS_224", "deit_small_patch16_LS_224_in21k", "deit_small_patch16_LS_384",
    "deit_small_patch16_LS_384_in21k", "deit_tiny_distilled_patch16_224", "deit_tiny_patch16_224",
    "densenet121", "densenet161", "densenet169", "densenet201", "detection", "dla34", "dla46_c",
    "dla46x_c", "dla60", "dla60x", "dla60x_c", "dla102", "dla102x", "dla102x2", "dla169",
    "drop_path", "efficientnet_b0", "efficientnet_b1", "efficientnet_b2", "efficientnet_b3",
    "efficientnet_b4", "efficientnet_b5", "efficientnet_b6", "efficientnet_b7",
    "fan_base_16_p4_hybrid", "fan_base_16_p4_hybrid_in22k_1k", "fan_base_16_p4_hybrid_in22k_1k_384",
    "fan_base_18_p16_224", "fan_large_16_p4_hybrid", "fan_large_16_p4_hybrid_in22k_1k",
    "fan_large_16_p4_hybrid_in22k_1k_384", "fan_large_24_p16_224", "fan_small_12_p4_hybrid",
    "fan_small_12_p16_224", "fan_tiny_8_p4_hybrid", "fan_tiny_12_p16_224", "fast_neural_style",
    "fuse_bn", "genet_large", "genet_normal", "genet_small", "ghostnet", "gmlp_b16_224",
    "gmlp_s16_224", "gmlp_ti16_224", "googlenet", "hMLP_stem", "head_embedding", "hrnet_w18",
    "hrnet_w18_small", "hrnet_w18_small_v2", "hrnet_w30", "hrnet_w32", "hrnet_w40", "hrnet_w44",
    "hrnet_w48", "hrnet_w64", "img2windows", "inception_v3", "iresnet50", "iresnet101",
    "layers_scale_mlp_blocks", "lecun_normal_", "levit_128", "levit_128s", "levit_192", "levit_256",
    "levit_384", "load_state_dict_from_url", "make_divisible", "middle_embedding",
    "mlp_mixer_b16_224", "mlp_mixer_b16_224_in21k", "mlp_mixer_b16_224_miil",
    "mlp_mixer_b16_224_miil_in21k", "mlp_mixer_b32_224", "mlp_mixer_l16_224",
    "mlp_mixer_l16_224_in21k", "mlp_mixer_l32_224", "mlp_mixer_s16_224", "mlp_mixer_s32_224",
    "mnasnet0_5", "mnasnet0_75", "mnasnet1_0", "mnasnet1_3", "mobilenet_v2", "mobilenet_v3_large",
    "mobilenet_v3_small", "mobilevit_small", "mobilevit_x_small", "mobilevit_xx_small",
    "model_factory", "named_apply", "named_modules", "neural_style_transfer", "pair",
    "poolformer_m36", "poolformer_m48", "poolformer_s12", "poolformer_s24", "poolformer_s36",
    "pvt_large", "pvt_medium", "pvt_small", "pvt_tiny", "regionvit_base_224",
    "regionvit_base_w14_224", "regionvit_base_w14_peg_224", "regionvit_medium_224",
    "regionvit_small_224", "regionvit_small_w14_224", "regionvit_small_w14_peg_224",
    "regionvit_tiny_224", "regnet_x_1_6gf", "regnet_x_3_2gf", "regnet_x_8gf", "regnet_x_16gf",
    "regnet_x_32gf", "regnet_x_400mf", "regnet_x_800mf", "regnet_y_1_6gf", "regnet_y_3_2gf",
    "regnet_y_8gf", "regnet_y_16gf", "regnet_y_32gf", "regnet_y_128gf", "regnet_y_400mf",
    "regnet_y_800mf", "remove_bn_in_superblock", "res2net50_14w_8s", "res2net50_26w_4s",
    "res2net50_26w_6s", "res2net50_26w_8s", "res2net50_48w_2s", "res2net101_26w_4s",
    "resize_pos_embed", "resmlp_12_224", "resmlp_12_224_dino", "resmlp_12_distilled_224",
    "resmlp_24_224", "resmlp_24_224_dino", "resmlp_24_distilled_224", "resmlp_36_224",
    "resmlp_36_distilled_224", "resmlp_big_24_224", "resmlp_big_24_224_in22k_to_1k",
    "resmlp_big_24_distilled_224", "resnest50", "resnest101", "resnest200", "resnest269",
    "resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "resnext50_32x4d",
    "resnext101_32x8d", "rexnet_lite_1_0", "rexnet_lite_1_3", "rexnet_lite_1_5", "rexnet_lite_2_0",
    "rexnetv1_1_0", "rexnetv1_1_3", "rexnetv1_1_5", "rexnetv1_2_0", "rexnetv1_3_0", "se_resnet50",
    "se_resnet101", "se_resnet152", "se_resnext50_32x4d", "se_resnext101_32x4d", "segmentation",
    "senet154", "shift_mask", "shufflenet_v2_x0_5", "shufflenet_v2_x1_0", "shufflenet_v2_x1_5",
    "shufflenet_v2_x2_0", "sigmoid", "squeezenet1_0", "squeezenet1_1",
    "swin_base_patch4_window7_224", "swin_base_patch4_window7_224_in22k_to_1k",
    "swin_base_patch4_window12_384", "swin_base_patch4_window12_384_in22k_to_1k",
    "swin_large_patch4_window7_224_in22k_to_1k", "swin_large_patch4_window12_384_in22k_to_1k",
    "swin_small_patch4_window7_224", "swin_tiny_patch4_window7_224", "to_1tuple", "to_2tuple",
    "to_3tuple", "to_4tuple", "trunc_normal_", "uniformer_base", "uniformer_base_ls",
    "uniformer_small", "uniformer_small_plus", "van_base", "van_large", "van_small", "van_tiny",
    "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn",
    "vit_base_patch8_224", "vit_base_patch8_224_in21k", "vit_base_patch16_224",
    "vit_base_patch16_224_in21k", "vit_base_patch16_224_miil", "vit_base_patch16_224_miil_in21k",
    "vit_base_patch16_224_sam", "vit_base_patch16_384", "vit_base_patch32_224",
    "vit_base_patch32_224_in21k", "vit_base_patch32_224_sam", "vit_base_patch32_384",
    "vit_giant_patch14_224", "vit_gigantic_patch14_224", "vit_huge_patch14_224",
    "vit_huge_patch14_224_in21k", "vit_large_patch16_224", "vit_large_patch16_224_in21k",
    "vit_large_patch16_384", "vit_large_patch32_224", "vit_large_patch32_224_in21k",
    "vit_large_patch32_384", "vit_models", "vit_small_patch16_224", "vit_small_patch16_224_in21k",
    "vit_small_patch16_384", "vit_small_patch32_224", "vit_small_patch32_224_in21k",
    "vit_small_patch32_384", "vit_tiny_patch16_224", "vit_tiny_patch16_224_in21k",
    "vit_tiny_patch16_384", "wide_resnet50_2", "wide_resnet101_2", "window_partition",
    "window_reverse", "windows2img",
]
# fmt: on
