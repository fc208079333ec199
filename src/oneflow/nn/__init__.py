"""Neural network layers, losses and models: PyTorch's and OneFlow's `nn`."""

from typing import TYPE_CHECKING

from oneflow.base.lazy_import import lazy_dir as _lazy_dir, lazy_getattr as _lazy_getattr
from oneflow.functional.nn.linear_cross_entropy import (
    LinearCrossEntropyOptions as LinearCrossEntropyOptions,
)
from oneflow.module.buffer import Buffer as Buffer
from oneflow.module.module import Module as Module
from oneflow.module.parameter import Parameter as Parameter
from oneflow.nn import (
    functional as functional,
    init as init,
)

if TYPE_CHECKING:
    from oneflow.graph.graph import Graph as Graph
    from oneflow.nn import (
        attention as attention,
        common_types as common_types,
        graph as graph,
        image as image,
        optimizer as optimizer,
        parallel as parallel,
        parameter as parameter,
        qat as qat,
        utils as utils,
    )
    from oneflow.nn.modules.dataset import (
        COCOReader as COCOReader,
        CoinFlip as CoinFlip,
        GPTIndexedBinDataReader as GPTIndexedBinDataReader,
        OFRecordBytesDecoder as OFRecordBytesDecoder,
        OFRecordImageDecoder as OFRecordImageDecoder,
        OFRecordImageDecoderRandomCrop as OFRecordImageDecoderRandomCrop,
        OFRecordImageGpuDecoderRandomCropResize as OFRecordImageGpuDecoderRandomCropResize,
        OFRecordRawDecoder as OFRecordRawDecoder,
        OfrecordRawDecoder as OfrecordRawDecoder,
        OFRecordReader as OFRecordReader,
        OfrecordReader as OfrecordReader,
        RawReader as RawReader,
    )
    from oneflow.nn.modules.image import CropMirrorNormalize as CropMirrorNormalize
    from oneflow.nn.modules.onerec import OneRecReader as OneRecReader

# Most programs do without these.
__lazy_modules__ = (
    "attention",
    "common_types",
    "graph",
    "image",
    "optimizer",
    "parallel",
    "parameter",
    "qat",
    "utils",
)
__lazy_names__ = {
    "CropMirrorNormalize": "oneflow.nn.modules.image",
    "COCOReader": "oneflow.nn.modules.dataset",
    "CoinFlip": "oneflow.nn.modules.dataset",
    "Graph": "oneflow.graph.graph",
    "GPTIndexedBinDataReader": "oneflow.nn.modules.dataset",
    "OFRecordBytesDecoder": "oneflow.nn.modules.dataset",
    "OFRecordImageDecoder": "oneflow.nn.modules.dataset",
    "OFRecordImageDecoderRandomCrop": "oneflow.nn.modules.dataset",
    "OFRecordImageGpuDecoderRandomCropResize": "oneflow.nn.modules.dataset",
    "OFRecordRawDecoder": "oneflow.nn.modules.dataset",
    "OfrecordRawDecoder": "oneflow.nn.modules.dataset",
    "OFRecordReader": "oneflow.nn.modules.dataset",
    "OfrecordReader": "oneflow.nn.modules.dataset",
    "OneRecReader": "oneflow.nn.modules.onerec",
    "RawReader": "oneflow.nn.modules.dataset",
}
if not TYPE_CHECKING:  # for a type checker it would give every name a meaning
    __getattr__ = _lazy_getattr(__name__, __lazy_modules__, __lazy_names__)
__dir__ = _lazy_dir(__name__, (*__lazy_modules__, *__lazy_names__))

# isort: split
# Generated from the function registry by `tools/make_facades.py` (make stubs).
from oneflow.builtins.products import (
    fused_self_attention as fused_self_attention_query_mul_key_and_value,
)
from oneflow.functional.elementwise.activation import (
    elu as elu,
    gelu as gelu,
    mish as mish,
    relu as relu,
    selu as selu,
    silu as swish,
)
from oneflow.functional.elementwise.piecewise import (
    hardsigmoid as hardsigmoid,
    hardswish as hardswish,
    hardtanh as hardtanh,
    relu6 as relu6,
)
from oneflow.functional.nn.ctc import ctc_greedy_decoder as ctc_greedy_decoder
from oneflow.functional.nn.fused import fused_scale_tril as fused_scale_tril
from oneflow.legacy_functions.nn import (
    batch_normalization as batch_normalization,
    bias_add as bias_add,
    distributed_sparse_softmax_cross_entropy_with_logits as distributed_sparse_softmax_cross_entropy_with_logits,  # noqa: E501
    dropout as dropout,
    fused_bias_add_dropout as fused_bias_add_dropout,
    fused_bias_add_gelu as fused_bias_add_gelu,
    fused_scale_tril_softmax_dropout as fused_scale_tril_softmax_dropout,
    layer_norm as layer_norm,
    leaky_relu as leaky_relu,
    logsoftmax as logsoftmax,
    moments as moments,
    pixel_shuffle_v2 as PixelShufflev2,
    pixel_shuffle_v2 as pixel_shuffle_v2,
    random_mask_like as random_mask_like,
    sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits,
    softmax as softmax,
    softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits,
    softmax_grad as softmax_grad,
    sparse_cross_entropy as sparse_cross_entropy,
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
    tril as tril,
)
from oneflow.legacy_functions.windows import (
    avg_pool1d as avg_pool1d,
    avg_pool2d as avg_pool2d,
    avg_pool3d as avg_pool3d,
    conv1d as conv1d,
    conv2d as compat_conv2d,
    conv2d as conv2d,
    conv2d_transpose as conv2d_transpose,
    conv3d as conv3d,
    max_pool1d as max_pool1d,
    max_pool2d as max_pool2d,
    max_pool3d as max_pool3d,
    torch_conv2d_transpose as torch_conv2d_transpose,
)
from oneflow.nn.modules.activation import (
    CELU as CELU,
    ELU as ELU,
    GELU as GELU,
    SELU as SELU,
    LeakyReLU as LeakyReLU,
    LogSigmoid as LogSigmoid,
    Mish as Mish,
    PReLU as PReLU,
    QuickGELU as QuickGELU,
    ReLU as ReLU,
    RReLU as RReLU,
    Sigmoid as Sigmoid,
    SiLU as SiLU,
    Softplus as Softplus,
    Softsign as Softsign,
    SquareReLU as SquareReLU,
    Tanh as Tanh,
    Tanhshrink as Tanhshrink,
)
from oneflow.nn.modules.adaptive import (
    AdaptiveLogSoftmaxOutput as AdaptiveLogSoftmaxOutput,
    AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss,
)
from oneflow.nn.modules.adaptive_pooling import (
    AdaptiveAvgPool1d as AdaptiveAvgPool1d,
    AdaptiveAvgPool2d as AdaptiveAvgPool2d,
    AdaptiveAvgPool3d as AdaptiveAvgPool3d,
    AdaptiveMaxPool1d as AdaptiveMaxPool1d,
    AdaptiveMaxPool2d as AdaptiveMaxPool2d,
    AdaptiveMaxPool3d as AdaptiveMaxPool3d,
)
from oneflow.nn.modules.batchnorm import (
    BatchNorm1d as BatchNorm1d,
    BatchNorm2d as BatchNorm2d,
    BatchNorm3d as BatchNorm3d,
    FusedBatchNorm1d as FusedBatchNorm1d,
    FusedBatchNorm2d as FusedBatchNorm2d,
    FusedBatchNorm3d as FusedBatchNorm3d,
    SyncBatchNorm as SyncBatchNorm,
)
from oneflow.nn.modules.container import (
    ModuleDict as ModuleDict,
    ModuleList as ModuleList,
    Sequential as Sequential,
)
from oneflow.nn.modules.conv import (
    Conv1d as Conv1d,
    Conv2d as Conv2d,
    Conv3d as Conv3d,
    ConvTranspose1d as ConvTranspose1d,
    ConvTranspose2d as ConvTranspose2d,
    ConvTranspose3d as ConvTranspose3d,
)
from oneflow.nn.modules.data_parallel import DataParallel as DataParallel
from oneflow.nn.modules.distance import (
    CosineSimilarity as CosineSimilarity,
    PairwiseDistance as PairwiseDistance,
)
from oneflow.nn.modules.dropout import (
    AlphaDropout as AlphaDropout,
    Dropout as Dropout,
    Dropout1d as Dropout1d,
    Dropout2d as Dropout2d,
    Dropout3d as Dropout3d,
    FeatureAlphaDropout as FeatureAlphaDropout,
)
from oneflow.nn.modules.elementwise_loss import (
    BCELoss as BCELoss,
    BCEWithLogitsLoss as BCEWithLogitsLoss,
    GaussianNLLLoss as GaussianNLLLoss,
    HuberLoss as HuberLoss,
    KLDivLoss as KLDivLoss,
    L1Loss as L1Loss,
    MSELoss as MSELoss,
    PoissonNLLLoss as PoissonNLLLoss,
    SmoothL1Loss as SmoothL1Loss,
    SoftMarginLoss as SoftMarginLoss,
)
from oneflow.nn.modules.embedding import Embedding as Embedding, EmbeddingBag as EmbeddingBag
from oneflow.nn.modules.flatten import Flatten as Flatten, Unflatten as Unflatten
from oneflow.nn.modules.fractional_pooling import (
    FractionalMaxPool2d as FractionalMaxPool2d,
    FractionalMaxPool3d as FractionalMaxPool3d,
)
from oneflow.nn.modules.fused_mlp import FusedMLP as FusedMLP
from oneflow.nn.modules.instancenorm import (
    InstanceNorm1d as InstanceNorm1d,
    InstanceNorm2d as InstanceNorm2d,
    InstanceNorm3d as InstanceNorm3d,
)
from oneflow.nn.modules.lazy import (
    LazyBatchNorm1d as LazyBatchNorm1d,
    LazyBatchNorm2d as LazyBatchNorm2d,
    LazyBatchNorm3d as LazyBatchNorm3d,
    LazyConv1d as LazyConv1d,
    LazyConv2d as LazyConv2d,
    LazyConv3d as LazyConv3d,
    LazyConvTranspose1d as LazyConvTranspose1d,
    LazyConvTranspose2d as LazyConvTranspose2d,
    LazyConvTranspose3d as LazyConvTranspose3d,
    LazyInstanceNorm1d as LazyInstanceNorm1d,
    LazyInstanceNorm2d as LazyInstanceNorm2d,
    LazyInstanceNorm3d as LazyInstanceNorm3d,
    LazyLinear as LazyLinear,
    LazyModuleMixin as LazyModuleMixin,
)
from oneflow.nn.modules.linear import Bilinear as Bilinear, Identity as Identity, Linear as Linear
from oneflow.nn.modules.loss import (
    CrossEntropyLoss as CrossEntropyLoss,
    CTCLoss as CTCLoss,
    LinearCrossEntropyLoss as LinearCrossEntropyLoss,
    NLLLoss as NLLLoss,
)
from oneflow.nn.modules.margin_loss import (
    CombinedMarginLoss as CombinedMarginLoss,
    CosineEmbeddingLoss as CosineEmbeddingLoss,
    HingeEmbeddingLoss as HingeEmbeddingLoss,
    MarginRankingLoss as MarginRankingLoss,
    MultiLabelMarginLoss as MultiLabelMarginLoss,
    MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss,
    MultiMarginLoss as MultiMarginLoss,
    TripletMarginLoss as TripletMarginLoss,
    TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss,
)
from oneflow.nn.modules.multi_head_attention import MultiheadAttention as MultiheadAttention
from oneflow.nn.modules.normalization import (
    CrossMapLRN2d as CrossMapLRN2d,
    GroupNorm as GroupNorm,
    LayerNorm as LayerNorm,
    LocalResponseNorm as LocalResponseNorm,
    RMSLayerNorm as RMSLayerNorm,
    RMSNorm as RMSNorm,
)
from oneflow.nn.modules.padding import (
    CircularPad1d as CircularPad1d,
    CircularPad2d as CircularPad2d,
    CircularPad3d as CircularPad3d,
    ConstantPad1d as ConstantPad1d,
    ConstantPad2d as ConstantPad2d,
    ConstantPad3d as ConstantPad3d,
    ReflectionPad1d as ReflectionPad1d,
    ReflectionPad2d as ReflectionPad2d,
    ReflectionPad3d as ReflectionPad3d,
    ReplicationPad1d as ReplicationPad1d,
    ReplicationPad2d as ReplicationPad2d,
    ReplicationPad3d as ReplicationPad3d,
    ZeroPad1d as ZeroPad1d,
    ZeroPad2d as ZeroPad2d,
    ZeroPad3d as ZeroPad3d,
)
from oneflow.nn.modules.parameter_container import (
    ParameterDict as ParameterDict,
    ParameterList as ParameterList,
)
from oneflow.nn.modules.partial_fc import (
    DistributedPariticalFCSample as DistributedPariticalFCSample,
)
from oneflow.nn.modules.patches import (
    ChannelShuffle as ChannelShuffle,
    Fold as Fold,
    PixelShuffle as PixelShuffle,
    PixelUnshuffle as PixelUnshuffle,
    Unfold as Unfold,
)
from oneflow.nn.modules.piecewise import (
    Hardshrink as Hardshrink,
    Hardsigmoid as Hardsigmoid,
    Hardswish as Hardswish,
    Hardtanh as Hardtanh,
    ReLU6 as ReLU6,
    Softshrink as Softshrink,
    Threshold as Threshold,
)
from oneflow.nn.modules.pooling import (
    AvgPool1d as AvgPool1d,
    AvgPool2d as AvgPool2d,
    AvgPool3d as AvgPool3d,
    LPPool1d as LPPool1d,
    LPPool2d as LPPool2d,
    LPPool3d as LPPool3d,
    MaxPool1d as MaxPool1d,
    MaxPool2d as MaxPool2d,
    MaxPool3d as MaxPool3d,
    MaxUnpool1d as MaxUnpool1d,
    MaxUnpool2d as MaxUnpool2d,
    MaxUnpool3d as MaxUnpool3d,
)
from oneflow.nn.modules.quantization import (
    FakeQuantization as FakeQuantization,
    MinMaxObserver as MinMaxObserver,
    MovingAverageMinMaxObserver as MovingAverageMinMaxObserver,
    Quantization as Quantization,
)
from oneflow.nn.modules.quantized_conv import (
    QatConv1d as QatConv1d,
    QatConv2d as QatConv2d,
    QatConv3d as QatConv3d,
)
from oneflow.nn.modules.recurrent_base import RNNBase as RNNBase
from oneflow.nn.modules.rnn import GRU as GRU, LSTM as LSTM, RNN as RNN
from oneflow.nn.modules.rnn_cell import (
    GRUCell as GRUCell,
    LSTMCell as LSTMCell,
    RNNCell as RNNCell,
    RNNCellBase as RNNCellBase,
)
from oneflow.nn.modules.softmax import (
    GLU as GLU,
    LogSoftmax as LogSoftmax,
    Softmax as Softmax,
    Softmax2d as Softmax2d,
    Softmin as Softmin,
)
from oneflow.nn.modules.transformer import (
    Transformer as Transformer,
    TransformerDecoder as TransformerDecoder,
    TransformerDecoderLayer as TransformerDecoderLayer,
    TransformerEncoder as TransformerEncoder,
    TransformerEncoderLayer as TransformerEncoderLayer,
)
from oneflow.nn.modules.uninitialized import (
    UninitializedBuffer as UninitializedBuffer,
    UninitializedParameter as UninitializedParameter,
)
from oneflow.nn.modules.upsampling import (
    Upsample as Upsample,
    UpsamplingBilinear2d as UpsamplingBilinear2d,
    UpsamplingNearest2d as UpsamplingNearest2d,
)

# fmt: off
__all__ = [
    "CELU", "ELU", "GELU", "GLU", "GRU", "LSTM", "RNN", "SELU", "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveLogSoftmaxOutput",
    "AdaptiveLogSoftmaxWithLoss", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d",
    "AlphaDropout", "AvgPool1d", "AvgPool2d", "AvgPool3d", "BCELoss", "BCEWithLogitsLoss",
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Bilinear", "Buffer", "CTCLoss", "ChannelShuffle",
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "CombinedMarginLoss", "ConstantPad1d",
    "ConstantPad2d", "ConstantPad3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d",
    "ConvTranspose2d", "ConvTranspose3d", "CosineEmbeddingLoss", "CosineSimilarity",
    "CrossEntropyLoss", "CrossMapLRN2d", "DataParallel", "DistributedPariticalFCSample", "Dropout",
    "Dropout1d", "Dropout2d", "Dropout3d", "Embedding", "EmbeddingBag", "FakeQuantization",
    "FeatureAlphaDropout", "Flatten", "Fold", "FractionalMaxPool2d", "FractionalMaxPool3d",
    "FusedBatchNorm1d", "FusedBatchNorm2d", "FusedBatchNorm3d", "FusedMLP", "GRUCell",
    "GaussianNLLLoss", "GroupNorm", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "HingeEmbeddingLoss", "HuberLoss", "Identity", "InstanceNorm1d", "InstanceNorm2d",
    "InstanceNorm3d", "KLDivLoss", "L1Loss", "LPPool1d", "LPPool2d", "LPPool3d", "LSTMCell",
    "LayerNorm", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d",
    "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
    "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear",
    "LazyModuleMixin", "LeakyReLU", "Linear", "LinearCrossEntropyLoss", "LinearCrossEntropyOptions",
    "LocalResponseNorm", "LogSigmoid", "LogSoftmax", "MSELoss", "MarginRankingLoss", "MaxPool1d",
    "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "MinMaxObserver", "Mish",
    "Module", "ModuleDict", "ModuleList", "MovingAverageMinMaxObserver", "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "MultiheadAttention", "NLLLoss", "PReLU",
    "PairwiseDistance", "Parameter", "ParameterDict", "ParameterList", "PixelShuffle",
    "PixelShufflev2", "PixelUnshuffle", "PoissonNLLLoss", "QatConv1d", "QatConv2d", "QatConv3d",
    "Quantization", "QuickGELU", "RMSLayerNorm", "RMSNorm", "RNNBase", "RNNCell", "RNNCellBase",
    "RReLU", "ReLU", "ReLU6", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d",
    "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "Sequential", "SiLU", "Sigmoid",
    "SmoothL1Loss", "SoftMarginLoss", "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink",
    "Softsign", "SquareReLU", "SyncBatchNorm", "Tanh", "Tanhshrink", "Threshold", "Transformer",
    "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer", "TripletMarginLoss", "TripletMarginWithDistanceLoss", "Unflatten",
    "Unfold", "UninitializedBuffer", "UninitializedParameter", "Upsample", "UpsamplingBilinear2d",
    "UpsamplingNearest2d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "batch_normalization", "bias_add", "compat_conv2d", "conv1d", "conv2d",
    "conv2d_transpose", "conv3d", "ctc_greedy_decoder",
    "distributed_sparse_softmax_cross_entropy_with_logits", "dropout", "elu", "functional",
    "fused_bias_add_dropout", "fused_bias_add_gelu", "fused_scale_tril",
    "fused_scale_tril_softmax_dropout", "fused_self_attention_query_mul_key_and_value", "gelu",
    "hardsigmoid", "hardswish", "hardtanh", "init", "layer_norm", "leaky_relu", "logsoftmax",
    "max_pool1d", "max_pool2d", "max_pool3d", "mish", "moments", "pixel_shuffle_v2",
    "random_mask_like", "relu", "relu6", "selu", "sigmoid_cross_entropy_with_logits", "softmax",
    "softmax_cross_entropy_with_logits", "softmax_grad", "sparse_cross_entropy",
    "sparse_softmax_cross_entropy_with_logits", "swish", "torch_conv2d_transpose", "tril",
]
# fmt: on
