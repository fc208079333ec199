"""OneFlow on XLA: PyTorch-style tensors, autograd and modules, compiled by XLA.

Public names are re-exported from the rooms below; see `docs/architecture.md` for the map.
"""

# First: the launcher needs nothing of the rest.
from oneflow.control_plane.launcher import early as _early

# isort: split
from oneflow import runtime as _runtime  # then: configures JAX before anything makes an array

# isort: split
from math import e as e, inf as inf, nan as nan, pi as pi
from typing import TYPE_CHECKING

from numpy import newaxis as newaxis

from oneflow import nested as nested, random as random, sbp as sbp, sparse as sparse
from oneflow.base import import_paths as _import_paths  # finds modules by upstream's paths
from oneflow.base.device import (
    Device as device,
    get_default_device as get_default_device,
    set_default_device as set_default_device,
)
from oneflow.base.dtype import (
    DType as dtype,
    bfloat16 as bfloat16,
    bool_ as bool,
    complex64 as cfloat,
    complex64 as complex64,
    complex128 as cdouble,
    complex128 as complex128,
    convert_oneflow_dtype_to_numpy_dtype as convert_oneflow_dtype_to_numpy_dtype,
    dtypes as dtypes,
    float16 as float16,
    float16 as half,
    float32 as float,
    float32 as float32,
    float64 as double,
    float64 as float64,
    get_default_dtype as get_default_dtype,
    int8 as char,
    int8 as int8,
    int16 as int16,
    int16 as short,
    int32 as int,
    int32 as int32,
    int64 as int64,
    int64 as long,
    set_default_dtype as set_default_dtype,
    tensor_buffer as tensor_buffer,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)
from oneflow.base.errors import OutOfMemoryError as OutOfMemoryError
from oneflow.base.layout import (
    Layout as layout,
    MemoryFormat as memory_format,
    channels_last as channels_last,
    channels_last_3d as channels_last_3d,
    contiguous_format as contiguous_format,
    jagged as jagged,
    preserve_format as preserve_format,
    sparse_coo as sparse_coo,
    sparse_csc as sparse_csc,
    sparse_csr as sparse_csr,
    strided as strided,
)
from oneflow.base.lazy_import import lazy_dir as _lazy_dir, lazy_getattr as _lazy_getattr
from oneflow.base.limits import finfo as finfo, iinfo as iinfo
from oneflow.base.placement import Placement as placement
from oneflow.base.shape import Size as Size
from oneflow.differentiation.anomaly import (
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    is_anomaly_enabled as is_anomaly_enabled,
)
from oneflow.differentiation.grad_mode import (
    enable_grad as enable_grad,
    enable_grad as grad_enable,
    inference_mode as inference_mode,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from oneflow.dispatch import call as _call  # installs the meaning of calling a primitive
from oneflow.functional import (
    operators as _operators,  # gives Tensor its operators
    return_types as return_types,
)
from oneflow.functional.creation import (
    init as _init,  # gives Tensor its methods
    offloading as _offloading,
)
from oneflow.functional.creation.constructors import (
    BFloat16Tensor as BFloat16Tensor,
    BoolTensor as BoolTensor,
    ByteTensor as ByteTensor,
    CharTensor as CharTensor,
    ComplexDoubleTensor as ComplexDoubleTensor,
    ComplexFloatTensor as ComplexFloatTensor,
    DoubleTensor as DoubleTensor,
    FloatTensor as FloatTensor,
    HalfTensor as HalfTensor,
    IntTensor as IntTensor,
    LongTensor as LongTensor,
    ShortTensor as ShortTensor,
    set_default_tensor_type as set_default_tensor_type,
)
from oneflow.functional.creation.storages import (
    TypedStorage as TypedStorage,
    UntypedStorage as UntypedStorage,
)
from oneflow.functional.index import indexing as _indexing
from oneflow.functional.random import inplace as _random_inplace  # gives Tensor its methods
from oneflow.random.generator import (
    Generator as Generator,
    default_generator as default_generator,
    get_rng_state as get_rng_state,
    initial_seed as initial_seed,
    manual_seed as manual_seed,
    seed as seed,
    set_rng_state as set_rng_state,
)
from oneflow.sparse.creation import (
    sparse_compressed_tensor as sparse_compressed_tensor,
    sparse_coo_tensor as sparse_coo_tensor,
    sparse_csc_tensor as sparse_csc_tensor,
    sparse_csr_tensor as sparse_csr_tensor,
)
from oneflow.tensor import (
    array_namespace as _array_namespace,
    copy_methods as _copy_methods,
    html as _html,
)
from oneflow.tensor.printing import (
    get_printoptions as get_printoptions,
    set_printoptions as set_printoptions,
)
from oneflow.tensor.promotion import (
    can_cast as can_cast,
    promote_types as promote_types,
    result_type as result_type,
)
from oneflow.tensor.tensor import Tensor as Tensor
from oneflow.tuning.threads import (
    get_num_threads as get_num_threads,
    set_num_threads as set_num_threads,
)
from oneflow.version import __version__ as __version__

# isort: split
from oneflow import (
    autograd as autograd,
    eager as eager,
    linalg as linalg,
    special as special,
)
from oneflow.legacy import blob as _blob
from oneflow.runtime.determinism import (
    are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
    use_deterministic_algorithms as use_deterministic_algorithms,
)
from oneflow.runtime.matmul_precision import (
    get_float32_matmul_precision as get_float32_matmul_precision,
    set_float32_matmul_precision as set_float32_matmul_precision,
)

if TYPE_CHECKING:
    from oneflow import (
        _C as _C,
        accelerator as accelerator,
        amp as amp,
        array_api as array_api,
        asyncs as asyncs,
        backends as backends,
        boxing as boxing,
        checkpoint as checkpoint,
        comm as comm,
        compatible as compatible,
        config as config,
        cuda as cuda,
        data as data,
        distribute as distribute,
        distributed as distributed,
        distributions as distributions,
        env as env,
        experimental as experimental,
        fft as fft,
        framework as framework,
        func as func,
        hub as hub,
        image as image,
        jax as jax,
        jit as jit,
        layers as layers,
        math as math,
        mock_torch as mock_torch,
        multiprocessing as multiprocessing,
        nn as nn,
        one_embedding as one_embedding,
        onnx as onnx,
        optim as optim,
        optimizer as optimizer,
        plan as plan,
        profiler as profiler,
        regularizers as regularizers,
        saved_model as saved_model,
        scope as scope,
        serving as serving,
        signal as signal,
        sysconfig as sysconfig,
        testing as testing,
        train as train,
        typing as typing,
        util as util,
        utils as utils,
    )
    from oneflow.amp.autocast import (
        autocast as autocast,
        autocast_decorator as autocast_decorator,
        clear_autocast_cache as clear_autocast_cache,
        get_autocast_cpu_dtype as get_autocast_cpu_dtype,
        get_autocast_dtype as get_autocast_dtype,
        get_autocast_gpu_dtype as get_autocast_gpu_dtype,
        is_autocast_cache_enabled as is_autocast_cache_enabled,
        is_autocast_enabled as is_autocast_enabled,
        set_autocast_cache_enabled as set_autocast_cache_enabled,
        set_autocast_cpu_dtype as set_autocast_cpu_dtype,
        set_autocast_dtype as set_autocast_dtype,
        set_autocast_enabled as set_autocast_enabled,
        set_autocast_gpu_dtype as set_autocast_gpu_dtype,
    )
    from oneflow.array_api import (
        __array_api_version__ as __array_api_version__,
        __array_namespace_info__ as __array_namespace_info__,
    )
    from oneflow.checkpoint.serialization import load as load, save as save
    from oneflow.data.readers import objects as detection
    from oneflow.data.readers.buffers import (
        gen_tensor_buffer as gen_tensor_buffer,
        tensor_buffer_to_list_of_tensors as tensor_buffer_to_list_of_tensors,
        tensor_buffer_to_tensor as tensor_buffer_to_tensor,
        tensor_to_tensor_buffer as tensor_to_tensor_buffer,
    )
    from oneflow.data.readers.images import (
        batch_align as image_batch_align,
        decode as image_decode,
        flip as image_flip,
        normalize as image_normalize,
        random_crop as image_random_crop,
        resize as image_resize,
        target_resize as image_target_resize,
    )
    from oneflow.data.readers.objects import (
        object_bbox_flip as object_bbox_flip,
        object_bbox_scale as object_bbox_scale,
        object_segmentation_polygon_flip as object_segmentation_polygon_flip,
        object_segmentation_polygon_scale as object_segmentation_polygon_scale,
        object_segmentation_polygon_to_mask as object_segmentation_polygon_to_mask,
    )
    from oneflow.data.readers.onerec_batches import decode_onerec as decode_onerec
    from oneflow.data.readers.reader_functions import read_onerec as read_onerec
    from oneflow.legacy import losses as losses, quantization as quantization
    from oneflow.legacy.annotations import (
        ListNumpyPlaceholder as MirroredTensorDef,
        NumpyPlaceholder as FixedTensorDef,
    )
    from oneflow.legacy.context import namespace as name_scope
    from oneflow.legacy.function_config import (
        FunctionConfig as FunctionConfig,
        function_config as function_config,
    )
    from oneflow.legacy.initializers import (
        constant_initializer as constant_initializer,
        empty_initializer as empty_initializer,
        glorot_normal_initializer as glorot_normal_initializer,
        glorot_uniform_initializer as glorot_uniform_initializer,
        kaiming_initializer as kaiming_initializer,
        ones_initializer as ones_initializer,
        random_normal_initializer as random_normal_initializer,
        random_uniform_initializer as random_uniform_initializer,
        truncated_normal as truncated_normal,
        truncated_normal_initializer as truncated_normal_initializer,
        variance_scaling_initializer as variance_scaling_initializer,
        xavier_normal_initializer as xavier_normal_initializer,
        xavier_uniform_initializer as xavier_uniform_initializer,
        zeros_initializer as zeros_initializer,
    )
    from oneflow.legacy.job import global_function as global_function
    from oneflow.legacy.packing import acc as acc, pack as pack, unpack as unpack
    from oneflow.legacy.parallel_cast import (
        hierarchical_parallel_cast as hierarchical_parallel_cast,
        parallel_cast as parallel_cast,
    )
    from oneflow.legacy.private_names import record_messages as record
    from oneflow.legacy.scope import (
        placement as device_prior_placement,
        placement as fixed_placement,
    )
    from oneflow.legacy.session import (
        clear_default_session as clear_default_session,
        eager_execution_enabled as eager_execution_enabled,
        enable_eager_execution as enable_eager_execution,
        get_all_variables as get_all_variables,
        load_variables as load_variables,
        sync_default_session as sync_default_session,
    )
    from oneflow.legacy.user_op import (
        BuiltinOp as builtin_op,
        BuiltinOp as stateful_op,
        user_op_builder as consistent_user_op_builder,
        user_op_builder as user_op_builder,
    )
    from oneflow.legacy.variables import assign as assign, get_variable as get_variable
    from oneflow.legacy.watch import watch as watch, watch_diff as watch_diff
    from oneflow.module.scripting import compile as compile
    from oneflow.nn.utils.vmap import vmap as vmap

# Many programs do without these.
__lazy_modules__ = (
    "_C",
    "accelerator",
    "amp",
    "array_api",
    "asyncs",
    "backends",
    "boxing",
    "checkpoint",
    "comm",
    "compatible",
    "config",
    "cuda",
    "data",
    "distribute",
    "distributed",
    "distributions",
    "env",
    "experimental",
    "fft",
    "func",
    "framework",
    "hub",
    "image",
    "jax",
    "jit",
    "mock_torch",
    "multiprocessing",
    "layers",
    "math",
    "nn",
    "one_embedding",
    "onnx",
    "optim",
    "optimizer",
    "plan",
    "profiler",
    "regularizers",
    "saved_model",
    "scope",
    "serving",
    "signal",
    "sysconfig",
    "testing",
    "train",
    "typing",
    "util",
    "utils",
)
__lazy_names__ = {
    "acc": "oneflow.legacy.packing",
    "assign": "oneflow.legacy.variables",
    "autocast": "oneflow.amp.autocast",
    "autocast_decorator": "oneflow.amp.autocast",
    "builtin_op": "oneflow.legacy.user_op:BuiltinOp",
    "clear_autocast_cache": "oneflow.amp.autocast",
    "compile": "oneflow.module.scripting",
    "clear_default_session": "oneflow.legacy.session",
    "consistent_user_op_builder": "oneflow.legacy.user_op:user_op_builder",
    "constant_initializer": "oneflow.legacy.initializers",
    "decode_onerec": "oneflow.data.readers.onerec_batches",
    "detection": "oneflow.data.readers:objects",
    "device_prior_placement": "oneflow.legacy.scope:placement",
    "eager_execution_enabled": "oneflow.legacy.session",
    "empty_initializer": "oneflow.legacy.initializers",
    "enable_eager_execution": "oneflow.legacy.session",
    "FixedTensorDef": "oneflow.legacy.annotations:NumpyPlaceholder",
    "fixed_placement": "oneflow.legacy.scope:placement",
    "function_config": "oneflow.legacy.function_config",
    "FunctionConfig": "oneflow.legacy.function_config",
    "__array_api_version__": "oneflow.array_api",
    "__array_namespace_info__": "oneflow.array_api",
    "gen_tensor_buffer": "oneflow.data.readers.buffers",
    "get_all_variables": "oneflow.legacy.session",
    "get_autocast_cpu_dtype": "oneflow.amp.autocast",
    "get_autocast_dtype": "oneflow.amp.autocast",
    "get_autocast_gpu_dtype": "oneflow.amp.autocast",
    "get_variable": "oneflow.legacy.variables",
    "global_function": "oneflow.legacy.job",
    "glorot_normal_initializer": "oneflow.legacy.initializers",
    "glorot_uniform_initializer": "oneflow.legacy.initializers",
    "hierarchical_parallel_cast": "oneflow.legacy.parallel_cast",
    "image_batch_align": "oneflow.data.readers.images:batch_align",
    "image_decode": "oneflow.data.readers.images:decode",
    "image_flip": "oneflow.data.readers.images:flip",
    "image_normalize": "oneflow.data.readers.images:normalize",
    "image_random_crop": "oneflow.data.readers.images:random_crop",
    "image_resize": "oneflow.data.readers.images:resize",
    "image_target_resize": "oneflow.data.readers.images:target_resize",
    "is_autocast_cache_enabled": "oneflow.amp.autocast",
    "is_autocast_enabled": "oneflow.amp.autocast",
    "kaiming_initializer": "oneflow.legacy.initializers",
    "load": "oneflow.checkpoint.serialization",
    "load_variables": "oneflow.legacy.session",
    "losses": "oneflow.legacy:losses",
    "MirroredTensorDef": "oneflow.legacy.annotations:ListNumpyPlaceholder",
    "name_scope": "oneflow.legacy.context:namespace",
    "object_bbox_flip": "oneflow.data.readers.objects",
    "object_bbox_scale": "oneflow.data.readers.objects",
    "object_segmentation_polygon_flip": "oneflow.data.readers.objects",
    "object_segmentation_polygon_scale": "oneflow.data.readers.objects",
    "object_segmentation_polygon_to_mask": "oneflow.data.readers.objects",
    "ones_initializer": "oneflow.legacy.initializers",
    "pack": "oneflow.legacy.packing",
    "parallel_cast": "oneflow.legacy.parallel_cast",
    "quantization": "oneflow.legacy:quantization",
    "random_normal_initializer": "oneflow.legacy.initializers",
    "random_uniform_initializer": "oneflow.legacy.initializers",
    "read_onerec": "oneflow.data.readers.reader_functions",
    "record": "oneflow.legacy.private_names:record_messages",
    "save": "oneflow.checkpoint.serialization",
    "set_autocast_cache_enabled": "oneflow.amp.autocast",
    "set_autocast_cpu_dtype": "oneflow.amp.autocast",
    "set_autocast_dtype": "oneflow.amp.autocast",
    "set_autocast_enabled": "oneflow.amp.autocast",
    "set_autocast_gpu_dtype": "oneflow.amp.autocast",
    "stateful_op": "oneflow.legacy.user_op:BuiltinOp",
    "sync_default_session": "oneflow.legacy.session",
    "tensor_buffer_to_list_of_tensors": "oneflow.data.readers.buffers",
    "tensor_buffer_to_tensor": "oneflow.data.readers.buffers",
    "tensor_to_tensor_buffer": "oneflow.data.readers.buffers",
    "truncated_normal": "oneflow.legacy.initializers",
    "truncated_normal_initializer": "oneflow.legacy.initializers",
    "unpack": "oneflow.legacy.packing",
    "user_op_builder": "oneflow.legacy.user_op",
    "variance_scaling_initializer": "oneflow.legacy.initializers",
    "watch": "oneflow.legacy.watch",
    "watch_diff": "oneflow.legacy.watch",
    "xavier_normal_initializer": "oneflow.legacy.initializers",
    "xavier_uniform_initializer": "oneflow.legacy.initializers",
    "zeros_initializer": "oneflow.legacy.initializers",
    "vmap": "oneflow.nn.utils.vmap",
}
if not TYPE_CHECKING:  # for a type checker it would give every name a meaning
    __getattr__ = _lazy_getattr(
        __name__,
        __lazy_modules__,
        __lazy_names__,
        unsupported="oneflow.legacy.unsupported",
        prefixes={"_foreach_": "oneflow.functional.foreach"},
    )
__dir__ = _lazy_dir(__name__, (*__lazy_modules__, *__lazy_names__))

# isort: split
# Generated from the function registry by `tools/make_facades.py` (make stubs).
from oneflow.functional.creation.constructors import (
    new_empty as new_empty,
    new_full as new_full,
    new_ones as new_ones,
    new_zeros as new_zeros,
)
from oneflow.functional.creation.conversion import (
    cast as cast,
    clone as clone,
    fill as fill,
    fill_ as fill_,
    to as to,
    typename as typename,
    zero_ as zero_,
)
from oneflow.functional.creation.factory_functions import (
    arange as arange,
    empty as empty,
    empty_like as empty_like,
    eye as eye,
    full as full,
    full_like as full_like,
    ones as ones,
    ones_like as ones_like,
    scalar_tensor as scalar_tensor,
    zeros as zeros,
    zeros_like as zeros_like,
)
from oneflow.functional.creation.from_data import (
    as_tensor as as_tensor,
    asarray as asarray,
    from_dlpack as from_dlpack,
    from_numpy as from_numpy,
    frombuffer as frombuffer,
    tensor as tensor,
    to_dlpack as to_dlpack,
)
from oneflow.functional.creation.spacing import linspace as linspace, logspace as logspace
from oneflow.functional.elementwise.activation import (
    celu as celu,
    celu_ as celu_,
    gelu as gelu,
    mish as mish,
    prelu as prelu,
    quick_gelu as quick_gelu,
    relu as relu,
    rrelu as rrelu,
    rrelu_ as rrelu_,
    selu as selu,
    selu_ as selu_,
    sigmoid as sigmoid,
    silu as silu,
    softplus as softplus,
    softsign as softsign,
    square_relu as square_relu,
    tanh as tanh,
)
from oneflow.functional.elementwise.arithmetic import (
    add as add,
    addcdiv as addcdiv,
    addcmul as addcmul,
    float_power as float_power,
    lerp as lerp,
    mul as mul,
    mul as multiply,
    pow_ as pow,
    rsub as rsub,
    sub as sub,
    sub as subtract,
)
from oneflow.functional.elementwise.binary import (
    atan2 as arctan2,
    atan2 as atan2,
    copysign as copysign,
    frexp as frexp,
    gcd as gcd,
    heaviside as heaviside,
    hypot as hypot,
    lcm as lcm,
    ldexp as ldexp,
    logaddexp as logaddexp,
    logaddexp2 as logaddexp2,
    nextafter as nextafter,
    xlogy as xlogy,
)
from oneflow.functional.elementwise.clamp import (
    clamp as clamp,
    clamp as clip,
    clamp_max as clamp_max,
    clamp_min as clamp_min,
    fmax as fmax,
    fmin as fmin,
    maximum as maximum,
    minimum as minimum,
    where as where,
)
from oneflow.functional.elementwise.comparison import (
    allclose as allclose,
    eq as eq,
    eq as equal_to,
    equal as equal,
    ge as ge,
    ge as greater_equal,
    gt as greater,
    gt as gt,
    is_same_size as is_same_size,
    isclose as isclose,
    le as le,
    le as less_equal,
    lt as less,
    lt as lt,
    ne as ne,
    ne as not_equal,
)
from oneflow.functional.elementwise.complex import (
    angle as angle,
    complex_ as complex,
    conj as conj,
    conj_physical as conj_physical,
    is_conj as is_conj,
    is_neg as is_neg,
    polar as polar,
    resolve_conj as resolve_conj,
    resolve_neg as resolve_neg,
)
from oneflow.functional.elementwise.division import (
    div as div,
    div as divide,
    div as true_divide,
    floor_divide as floor_divide,
    fmod as fmod,
    remainder as remainder,
)
from oneflow.functional.elementwise.fake_quantization import (
    fake_quantize_per_channel_affine as fake_quantize_per_channel_affine,
    fake_quantize_per_tensor_affine as fake_quantize_per_tensor_affine,
)
from oneflow.functional.elementwise.logic import (
    bitwise_and as bitwise_and,
    bitwise_left_shift as bitwise_left_shift,
    bitwise_not as bitwise_not,
    bitwise_or as bitwise_or,
    bitwise_right_shift as bitwise_right_shift,
    bitwise_xor as bitwise_xor,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    isneginf as isneginf,
    isposinf as isposinf,
    isreal as isreal,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    signbit as signbit,
)
from oneflow.functional.elementwise.piecewise import (
    hardshrink as hardshrink,
    softshrink as softshrink,
    threshold as threshold,
    threshold_ as threshold_,
)
from oneflow.functional.elementwise.rounding import (
    ceil as ceil,
    floor as floor,
    frac as frac,
    nan_to_num as nan_to_num,
    round_ as round,
    sgn as sgn,
    sign as sign,
    trunc as fix,
    trunc as trunc,
)
from oneflow.functional.elementwise.special import (
    digamma as digamma,
    erf as erf,
    erfc as erfc,
    erfinv as erfinv,
    i0 as i0,
    igamma as igamma,
    igammac as igammac,
    lgamma as lgamma,
    logit as logit,
    mvlgamma as mvlgamma,
    polygamma as polygamma,
)
from oneflow.functional.elementwise.trigonometry import (
    acos as acos,
    acos as arccos,
    acosh as acosh,
    acosh as arccosh,
    asin as arcsin,
    asin as asin,
    asinh as arcsinh,
    asinh as asinh,
    atan as arctan,
    atan as atan,
    atanh as arctanh,
    atanh as atanh,
    cos as cos,
    cosh as cosh,
    deg2rad as deg2rad,
    rad2deg as rad2deg,
    sin as sin,
    sinc as sinc,
    sinh as sinh,
    tan as tan,
)
from oneflow.functional.elementwise.unary import (
    abs_ as abs,
    abs_ as absolute,
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    log as log,
    log1p as log1p,
    log2 as log2,
    log10 as log10,
    neg as neg,
    neg as negative,
    positive as positive,
    reciprocal as reciprocal,
    rsqrt as rsqrt,
    sqrt as sqrt,
    square as square,
)
from oneflow.functional.fourier.short_time import istft as istft, stft as stft
from oneflow.functional.fourier.windows import (
    bartlett_window as bartlett_window,
    blackman_window as blackman_window,
    hamming_window as hamming_window,
    hann_window as hann_window,
    kaiser_window as kaiser_window,
)
from oneflow.functional.global_tensors.conversion import (
    global_to_global as global_to_global,
    local_to_global as local_to_global,
    to_consistent as to_consistent,
)
from oneflow.functional.global_tensors.trees import to_global as to_global, to_local as to_local
from oneflow.functional.index.coordinates import (
    nonzero_static as nonzero_static,
    unravel_index as unravel_index,
)
from oneflow.functional.index.gather import (
    batch_gather as batch_gather,
    gather as dim_gather,
    gather as gather,
    gather_nd as gather_nd,
    index_select as index_select,
    masked_select as masked_select,
    scatter_nd as scatter_nd,
    take as take,
    take_along_dim as take_along_dim,
    tensor_scatter_nd_add as tensor_scatter_nd_add,
    tensor_scatter_nd_update as tensor_scatter_nd_update,
)
from oneflow.functional.index.masked import (
    masked_fill as masked_fill,
    masked_scatter as masked_scatter,
)
from oneflow.functional.index.scatter import (
    index_add as index_add,
    index_copy as index_copy,
    index_fill as index_fill,
    index_put as index_put,
    index_reduce as index_reduce,
    put as put,
    scatter as scatter,
    scatter_add as scatter_add,
    scatter_reduce as scatter_reduce,
)
from oneflow.functional.index.scatter_views import (
    as_strided_scatter as as_strided_scatter,
    diagonal_scatter as diagonal_scatter,
    select_scatter as select_scatter,
    slice_scatter as slice_scatter,
)
from oneflow.functional.index.search import (
    argsort as argsort,
    argwhere as argwhere,
    bincount as bincount,
    bucketize as bucketize,
    histc as histc,
    isin as isin,
    kthvalue as kthvalue,
    msort as msort,
    nonzero as nonzero,
    searchsorted as searchsorted,
    sort as sort,
    topk as topk,
    unique as unique,
    unique_consecutive as unique_consecutive,
)
from oneflow.functional.linalg.added_products import (
    addbmm as addbmm,
    addmm as addmm,
    addmv as addmv,
    addr as addr,
    baddbmm as baddbmm,
)
from oneflow.functional.linalg.covariance import corrcoef as corrcoef, cov as cov
from oneflow.functional.linalg.decompositions import (
    cholesky as cholesky,
    cholesky_inverse as cholesky_inverse,
    cholesky_solve as cholesky_solve,
    pinverse as pinverse,
    qr_ as qr,
    svd_ as svd,
)
from oneflow.functional.linalg.einsum import einsum as einsum, tensordot as tensordot
from oneflow.functional.linalg.inverse import (
    det as det,
    inv as inverse,
    logdet as logdet,
    matrix_power as matrix_power,
    slogdet_ as slogdet,
)
from oneflow.functional.linalg.lapack import (
    geqrf as geqrf,
    householder_product as orgqr,
    lu_solve_ as lu_solve,
    lu_unpack as lu_unpack,
    matrix_exp as matrix_exp,
    ormqr as ormqr,
    triangular_solve as triangular_solve,
)
from oneflow.functional.linalg.lobpcg import lobpcg as lobpcg
from oneflow.functional.linalg.low_rank import (
    pca_lowrank as pca_lowrank,
    svd_lowrank as svd_lowrank,
)
from oneflow.functional.linalg.matmul import matmul as matmul
from oneflow.functional.linalg.norms import (
    cdist as cdist,
    dist as dist,
    norm_ as norm,
    norm_except_dim as norm_except_dim,
    pdist as pdist,
    renorm as renorm,
)
from oneflow.functional.linalg.products import (
    bmm as bmm,
    chain_matmul as chain_matmul,
    cross as cross,
    dot as dot,
    inner as inner,
    kron as kron,
    mm as mm,
    mv as mv,
    outer as ger,
    outer as outer,
    trace as trace,
    vander as vander,
    vdot as vdot,
)
from oneflow.functional.nn.adaptive_pooling import (
    adaptive_avg_pool1d as adaptive_avg_pool1d,
    adaptive_avg_pool2d as adaptive_avg_pool2d,
    adaptive_avg_pool3d as adaptive_avg_pool3d,
)
from oneflow.functional.nn.argument_order import (
    batch_norm as batch_norm,
    embedding as embedding,
    instance_norm as instance_norm,
)
from oneflow.functional.nn.conv import (
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
    conv_transpose1d as conv_transpose1d,
    conv_transpose2d as conv_transpose2d,
    conv_transpose3d as conv_transpose3d,
)
from oneflow.functional.nn.ctc import ctc_loss as ctc_loss
from oneflow.functional.nn.deform_conv import deform_conv2d as deform_conv2d
from oneflow.functional.nn.dense import bilinear as bilinear
from oneflow.functional.nn.detection import in_top_k as in_top_k, nms as nms, roi_align as roi_align
from oneflow.functional.nn.distance import (
    cosine_similarity as cosine_similarity,
    pairwise_distance as pairwise_distance,
)
from oneflow.functional.nn.dropout import (
    alpha_dropout as alpha_dropout,
    alpha_dropout_ as alpha_dropout_,
    dropout as dropout,
    dropout_ as dropout_,
    feature_alpha_dropout as feature_alpha_dropout,
    feature_alpha_dropout_ as feature_alpha_dropout_,
    feature_dropout as feature_dropout,
    feature_dropout_ as feature_dropout_,
)
from oneflow.functional.nn.elementwise_loss import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
    kl_div as kl_div,
    poisson_nll_loss as poisson_nll_loss,
)
from oneflow.functional.nn.margin_loss import (
    combined_margin_loss as combined_margin_loss,
    cosine_embedding_loss as cosine_embedding_loss,
    hinge_embedding_loss as hinge_embedding_loss,
    margin_ranking_loss as margin_ranking_loss,
    triplet_margin_loss as triplet_margin_loss,
)
from oneflow.functional.nn.normalization import (
    group_norm as group_norm,
    layer_norm as layer_norm,
    rms_norm as rms_norm,
)
from oneflow.functional.nn.padding import constant_pad_nd as constant_pad_nd, pad as pad
from oneflow.functional.nn.partial_fc import (
    distributed_partial_fc_sample as distributed_partial_fc_sample,
)
from oneflow.functional.nn.patches import (
    channel_shuffle as channel_shuffle,
    pixel_shuffle as pixel_shuffle,
    pixel_unshuffle as pixel_unshuffle,
)
from oneflow.functional.nn.pooling import (
    avg_pool1d as avg_pool1d,
    max_pool1d as max_pool1d,
    max_pool2d as max_pool2d,
    max_pool3d as max_pool3d,
)
from oneflow.functional.nn.pooling_with_indices import (
    adaptive_max_pool1d_with_indices as adaptive_max_pool1d,
    max_pool1d_with_indices as max_pool1d_with_indices,
)
from oneflow.functional.nn.softmax import log_softmax as log_softmax, softmax as softmax
from oneflow.functional.random.counts import binomial as binomial, poisson as poisson
from oneflow.functional.random.creation import (
    bernoulli as bernoulli,
    multinomial as multinomial,
    normal as normal,
    rand as rand,
    rand_like as rand_like,
    randint as randint,
    randint_like as randint_like,
    randn as randn,
    randn_like as randn_like,
    randperm as randperm,
)
from oneflow.functional.reduce.cumulative import (
    cummax as cummax,
    cummin as cummin,
    cumprod as cumprod,
    cumsum as cumsum,
    cumulative_trapezoid as cumulative_trapezoid,
    diff as diff,
    logcumsumexp as logcumsumexp,
    trapezoid as trapezoid,
    trapezoid as trapz,
)
from oneflow.functional.reduce.finite_differences import gradient as gradient
from oneflow.functional.reduce.histogram import histogram as histogram, histogramdd as histogramdd
from oneflow.functional.reduce.minmax import (
    amax as amax,
    amin as amin,
    aminmax as aminmax,
    argmax as argmax,
    argmin as argmin,
    max_ as max,
    min_ as min,
)
from oneflow.functional.reduce.ranking import roc_auc_score as roc_auc_score
from oneflow.functional.reduce.segments import segment_reduce as segment_reduce
from oneflow.functional.reduce.statistics import (
    median as median,
    mode as mode,
    nanmedian as nanmedian,
    nanquantile as nanquantile,
    quantile as quantile,
    std as std,
    std_mean as std_mean,
    var as var,
    var_mean as var_mean,
)
from oneflow.functional.reduce.sums import (
    all_ as all,
    any_ as any,
    count_nonzero as count_nonzero,
    logsumexp as logsumexp,
    mean as mean,
    nanmean as nanmean,
    nansum as nansum,
    prod as prod,
    sum_ as sum,
)
from oneflow.functional.shape.complex_parts import imag as imag, real as real
from oneflow.functional.shape.concat import (
    cat as cat,
    cat as concat,
    cat as concatenate,
    chunk as chunk,
    chunk as unsafe_chunk,
    dsplit as dsplit,
    hsplit as hsplit,
    split as split,
    split as split_with_sizes,
    split as unsafe_split,
    split as unsafe_split_with_sizes,
    stack as stack,
    tensor_split as tensor_split,
    unbind as unbind,
    vsplit as vsplit,
)
from oneflow.functional.shape.new_strided import (
    empty_permuted as empty_permuted,
    empty_strided as empty_strided,
)
from oneflow.functional.shape.properties import (
    is_complex as is_complex,
    is_floating_point as is_floating_point,
    is_nonzero as is_nonzero,
    is_signed as is_signed,
    is_tensor as is_tensor,
    numel as numel,
)
from oneflow.functional.shape.rearrange import (
    diag as diag,
    diag_embed as diag_embed,
    diagflat as diagflat,
    flip as flip,
    fliplr as fliplr,
    flipud as flipud,
    repeat as repeat,
    repeat_interleave as repeat_interleave,
    roll as roll,
    rot90 as rot90,
    tile as tile,
    tril as tril,
    triu as triu,
)
from oneflow.functional.shape.reshape import (
    broadcast_to as broadcast_to,
    expand as expand,
    flatten as flatten,
    movedim as moveaxis,
    movedim as movedim,
    permute as permute,
    ravel as ravel,
    reshape as dynamic_reshape,
    reshape as reshape,
    squeeze as squeeze,
    t as t,
    transpose as swapaxes,
    transpose as swapdims,
    transpose as transpose,
    unflatten as unflatten,
    unsqueeze as unsqueeze,
    view as view,
)
from oneflow.functional.shape.stack import (
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    block_diag as block_diag,
    broadcast_like as broadcast_like,
    broadcast_shapes as broadcast_shapes,
    broadcast_tensors as broadcast_tensors,
    cartesian_prod as cartesian_prod,
    column_stack as column_stack,
    combinations as combinations,
    dstack as dstack,
    hstack as hstack,
    meshgrid as meshgrid,
    slice_ as logical_slice,
    slice_ as slice,
    slice_ as slice_v2,
    slice_update as logical_slice_assign,
    slice_update as slice_update,
    tril_indices as tril_indices,
    triu_indices as triu_indices,
    vstack as row_stack,
    vstack as vstack,
)
from oneflow.functional.shape.storage import contiguous as contiguous, resize_as_ as resize_as_
from oneflow.functional.shape.strided_views import (
    adjoint as adjoint,
    as_strided as as_strided,
    diagonal as diagonal,
    narrow as narrow,
    select as select,
    view_as_complex as view_as_complex,
    view_as_real as view_as_real,
)
from oneflow.functional.shape.view_copies import (
    as_strided_copy as as_strided_copy,
    diagonal_copy as diagonal_copy,
    expand_copy as expand_copy,
    narrow_copy as narrow_copy,
    permute_copy as permute_copy,
    select_copy as select_copy,
    split_copy as split_copy,
    split_with_sizes_copy as split_with_sizes_copy,
    squeeze_copy as squeeze_copy,
    t_copy as t_copy,
    transpose_copy as transpose_copy,
    unbind_copy as unbind_copy,
    unfold_copy as unfold_copy,
    unsqueeze_copy as unsqueeze_copy,
    view_copy as view_copy,
)
from oneflow.legacy_functions.arrays import (
    constant as constant,
    constant_like as constant_like,
    constant_scalar as constant_scalar,
    expand_dims as expand_dims,
    identity as amp_white_identity,
    identity as cast_to_current_logical_view,
    identity as cast_to_static_shape,
    identity as identity,
    identity_n as identity_n,
    range_ as range,
    reshape_like as reshape_like,
    reverse as reverse,
    unsorted_batch_segment_sum as unsorted_batch_segment_sum,
    unsorted_segment_sum as unsorted_segment_sum,
    unsorted_segment_sum_like as unsorted_segment_sum_like,
)
from oneflow.legacy_functions.math import (
    broadcast_to_compatible_with as broadcast_to_compatible_with,
    clip_by_value as clip_by_scalar,
    clip_by_value as clip_by_value,
)
from oneflow.legacy_functions.top_level import (
    constant_pad2d as constant_pad2d,
    count_not_finite as count_not_finite,
    elem_cnt as elem_cnt,
    multi_count_not_finite as multi_count_not_finite,
    one_hot as one_hot,
    pad_grad as pad_grad,
    reflection_pad2d as reflection_pad2d,
    replication_pad2d as replication_pad2d,
    same_padding as same_padding,
    smooth_l1_loss as smooth_l1_loss,
    zero_pad2d as zero_pad2d,
)

abs_ = Tensor.abs_
acos_ = Tensor.acos_
acosh_ = Tensor.acosh_
addmv_ = Tensor.addmv_
arccos_ = Tensor.arccos_
arccosh_ = Tensor.arccosh_
arcsin_ = Tensor.arcsin_
arcsinh_ = Tensor.arcsinh_
arctan_ = Tensor.arctan_
arctanh_ = Tensor.arctanh_
asin_ = Tensor.asin_
asinh_ = Tensor.asinh_
atan_ = Tensor.atan_
atanh_ = Tensor.atanh_
ceil_ = Tensor.ceil_
clamp_ = Tensor.clamp_
clamp_max_ = Tensor.clamp_max_
clamp_min_ = Tensor.clamp_min_
clip_ = Tensor.clip_
conj_physical_ = Tensor.conj_physical_
cos_ = Tensor.cos_
cosh_ = Tensor.cosh_
deg2rad_ = Tensor.deg2rad_
detach = Tensor.detach
detach_ = Tensor.detach_
div_ = Tensor.div_
erf_ = Tensor.erf_
erfc_ = Tensor.erfc_
erfinv_ = Tensor.erfinv_
exp2_ = Tensor.exp2_
exp_ = Tensor.exp_
expm1_ = Tensor.expm1_
fix_ = Tensor.fix_
floor_ = Tensor.floor_
frac_ = Tensor.frac_
gcd_ = Tensor.gcd_
gt_ = Tensor.gt_
i0_ = Tensor.i0_
index_add_ = Tensor.index_add_
index_put_ = Tensor.index_put_
lcm_ = Tensor.lcm_
ldexp_ = Tensor.ldexp_
lerp_ = Tensor.lerp_
log1p_ = Tensor.log1p_
log2_ = Tensor.log2_
log10_ = Tensor.log10_
log_ = Tensor.log_
logit_ = Tensor.logit_
masked_fill_ = Tensor.masked_fill_
nan_to_num_ = Tensor.nan_to_num_
neg_ = Tensor.neg_
negative_ = Tensor.negative_
rad2deg_ = Tensor.rad2deg_
reciprocal_ = Tensor.reciprocal_
relu_ = Tensor.relu_
round_ = Tensor.round_
rsqrt_ = Tensor.rsqrt_
sigmoid_ = Tensor.sigmoid_
sin_ = Tensor.sin_
sinc_ = Tensor.sinc_
sinh_ = Tensor.sinh_
sqrt_ = Tensor.sqrt_
square_ = Tensor.square_
tan_ = Tensor.tan_
tanh_ = Tensor.tanh_
trunc_ = Tensor.trunc_
xlogy_ = Tensor.xlogy_

# fmt: off
__all__ = [
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "ComplexDoubleTensor",
    "ComplexFloatTensor", "DoubleTensor", "FloatTensor", "Generator", "HalfTensor", "IntTensor",
    "LongTensor", "OutOfMemoryError", "ShortTensor", "Size", "Tensor", "TypedStorage",
    "UntypedStorage", "abs", "abs_", "absolute", "acos", "acos_", "acosh", "acosh_",
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "add", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addmv_", "addr", "adjoint", "all",
    "allclose", "alpha_dropout", "alpha_dropout_", "amax", "amin", "aminmax", "amp_white_identity",
    "angle", "any", "arange", "arccos", "arccos_", "arccosh", "arccosh_", "arcsin", "arcsin_",
    "arcsinh", "arcsinh_", "arctan", "arctan2", "arctan_", "arctanh", "arctanh_",
    "are_deterministic_algorithms_enabled", "argmax", "argmin", "argsort", "argwhere", "as_strided",
    "as_strided_copy", "as_strided_scatter", "as_tensor", "asarray", "asin", "asin_", "asinh",
    "asinh_", "atan", "atan2", "atan_", "atanh", "atanh_", "atleast_1d", "atleast_2d", "atleast_3d",
    "autograd", "avg_pool1d", "baddbmm", "bartlett_window", "batch_gather", "batch_norm",
    "bernoulli", "bfloat16", "bilinear", "binary_cross_entropy_with_logits", "bincount", "binomial",
    "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "blackman_window", "block_diag", "bmm", "bool", "broadcast_like",
    "broadcast_shapes", "broadcast_tensors", "broadcast_to", "broadcast_to_compatible_with",
    "bucketize", "can_cast", "cartesian_prod", "cast", "cast_to_current_logical_view",
    "cast_to_static_shape", "cat", "cdist", "cdouble", "ceil", "ceil_", "celu", "celu_", "cfloat",
    "chain_matmul", "channel_shuffle", "channels_last", "channels_last_3d", "char", "cholesky",
    "cholesky_inverse", "cholesky_solve", "chunk", "clamp", "clamp_", "clamp_max", "clamp_max_",
    "clamp_min", "clamp_min_", "clip", "clip_", "clip_by_scalar", "clip_by_value", "clone",
    "column_stack", "combinations", "combined_margin_loss", "complex", "complex64", "complex128",
    "concat", "concatenate", "conj", "conj_physical", "conj_physical_", "constant", "constant_like",
    "constant_pad2d", "constant_pad_nd", "constant_scalar", "contiguous", "contiguous_format",
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "convert_oneflow_dtype_to_numpy_dtype", "copysign", "corrcoef", "cos", "cos_", "cosh", "cosh_",
    "cosine_embedding_loss", "cosine_similarity", "count_nonzero", "count_not_finite", "cov",
    "cross", "ctc_loss", "cummax", "cummin", "cumprod", "cumsum", "cumulative_trapezoid",
    "default_generator", "deform_conv2d", "deg2rad", "deg2rad_", "det", "detach", "detach_",
    "device", "diag", "diag_embed", "diagflat", "diagonal", "diagonal_copy", "diagonal_scatter",
    "diff", "digamma", "dim_gather", "dist", "distributed_partial_fc_sample", "div", "div_",
    "divide", "dot", "double", "dropout", "dropout_", "dsplit", "dstack", "dtype", "dtypes",
    "dynamic_reshape", "e", "eager", "einsum", "elem_cnt", "embedding", "empty", "empty_like",
    "empty_permuted", "empty_strided", "enable_grad", "eq", "equal", "equal_to", "erf", "erf_",
    "erfc", "erfc_", "erfinv", "erfinv_", "exp", "exp2", "exp2_", "exp_", "expand", "expand_copy",
    "expand_dims", "expm1", "expm1_", "eye", "fake_quantize_per_channel_affine",
    "fake_quantize_per_tensor_affine", "feature_alpha_dropout", "feature_alpha_dropout_",
    "feature_dropout", "feature_dropout_", "fill", "fill_", "finfo", "fix", "fix_", "flatten",
    "flip", "fliplr", "flipud", "float", "float16", "float32", "float64", "float_power", "floor",
    "floor_", "floor_divide", "fmax", "fmin", "fmod", "frac", "frac_", "frexp", "from_dlpack",
    "from_numpy", "frombuffer", "full", "full_like", "gather", "gather_nd", "gcd", "gcd_", "ge",
    "gelu", "geqrf", "ger", "get_default_device", "get_default_dtype",
    "get_float32_matmul_precision", "get_num_threads", "get_printoptions", "get_rng_state",
    "global_to_global", "grad_enable", "gradient", "greater", "greater_equal", "group_norm", "gt",
    "gt_", "half", "hamming_window", "hann_window", "hardshrink", "heaviside",
    "hinge_embedding_loss", "histc", "histogram", "histogramdd", "hsplit", "hstack", "hypot", "i0",
    "i0_", "identity", "identity_n", "igamma", "igammac", "iinfo", "imag", "in_top_k", "index_add",
    "index_add_", "index_copy", "index_fill", "index_put", "index_put_", "index_reduce",
    "index_select", "inf", "inference_mode", "initial_seed", "inner", "instance_norm", "int",
    "int8", "int16", "int32", "int64", "inverse", "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled", "is_complex", "is_conj", "is_floating_point", "is_grad_enabled",
    "is_inference_mode_enabled", "is_neg", "is_nonzero", "is_same_size", "is_signed", "is_tensor",
    "isclose", "isfinite", "isin", "isinf", "isnan", "isneginf", "isposinf", "isreal", "istft",
    "jagged", "kaiser_window", "kl_div", "kron", "kthvalue", "layer_norm", "layout", "lcm", "lcm_",
    "ldexp", "ldexp_", "le", "lerp", "lerp_", "less", "less_equal", "lgamma", "linalg", "linspace",
    "lobpcg", "local_to_global", "log", "log1p", "log1p_", "log2", "log2_", "log10", "log10_",
    "log_", "log_softmax", "logaddexp", "logaddexp2", "logcumsumexp", "logdet", "logical_and",
    "logical_not", "logical_or", "logical_slice", "logical_slice_assign", "logical_xor", "logit",
    "logit_", "logspace", "logsumexp", "long", "lt", "lu_solve", "lu_unpack", "manual_seed",
    "margin_ranking_loss", "masked_fill", "masked_fill_", "masked_scatter", "masked_select",
    "matmul", "matrix_exp", "matrix_power", "max", "max_pool1d", "max_pool1d_with_indices",
    "max_pool2d", "max_pool3d", "maximum", "mean", "median", "memory_format", "meshgrid", "min",
    "minimum", "mish", "mm", "mode", "moveaxis", "movedim", "msort", "mul",
    "multi_count_not_finite", "multinomial", "multiply", "mv", "mvlgamma", "nan", "nan_to_num",
    "nan_to_num_", "nanmean", "nanmedian", "nanquantile", "nansum", "narrow", "narrow_copy", "ne",
    "neg", "neg_", "negative", "negative_", "nested", "new_empty", "new_full", "new_ones",
    "new_zeros", "newaxis", "nextafter", "nms", "no_grad", "nonzero", "nonzero_static", "norm",
    "norm_except_dim", "normal", "not_equal", "numel", "one_hot", "ones", "ones_like", "orgqr",
    "ormqr", "outer", "pad", "pad_grad", "pairwise_distance", "pca_lowrank", "pdist", "permute",
    "permute_copy", "pi", "pinverse", "pixel_shuffle", "pixel_unshuffle", "placement", "poisson",
    "poisson_nll_loss", "polar", "polygamma", "positive", "pow", "prelu", "preserve_format", "prod",
    "promote_types", "put", "qr", "quantile", "quick_gelu", "rad2deg", "rad2deg_", "rand",
    "rand_like", "randint", "randint_like", "randn", "randn_like", "random", "randperm", "range",
    "ravel", "real", "reciprocal", "reciprocal_", "reflection_pad2d", "relu", "relu_", "remainder",
    "renorm", "repeat", "repeat_interleave", "replication_pad2d", "reshape", "reshape_like",
    "resize_as_", "resolve_conj", "resolve_neg", "result_type", "return_types", "reverse",
    "rms_norm", "roc_auc_score", "roi_align", "roll", "rot90", "round", "round_", "row_stack",
    "rrelu", "rrelu_", "rsqrt", "rsqrt_", "rsub", "same_padding", "sbp", "scalar_tensor", "scatter",
    "scatter_add", "scatter_nd", "scatter_reduce", "searchsorted", "seed", "segment_reduce",
    "select", "select_copy", "select_scatter", "selu", "selu_", "set_default_device",
    "set_default_dtype", "set_default_tensor_type", "set_float32_matmul_precision",
    "set_grad_enabled", "set_num_threads", "set_printoptions", "set_rng_state", "sgn", "short",
    "sigmoid", "sigmoid_", "sign", "signbit", "silu", "sin", "sin_", "sinc", "sinc_", "sinh",
    "sinh_", "slice", "slice_scatter", "slice_update", "slice_v2", "slogdet", "smooth_l1_loss",
    "softmax", "softplus", "softshrink", "softsign", "sort", "sparse", "sparse_compressed_tensor",
    "sparse_coo", "sparse_coo_tensor", "sparse_csc", "sparse_csc_tensor", "sparse_csr",
    "sparse_csr_tensor", "special", "split", "split_copy", "split_with_sizes",
    "split_with_sizes_copy", "sqrt", "sqrt_", "square", "square_", "square_relu", "squeeze",
    "squeeze_copy", "stack", "std", "std_mean", "stft", "strided", "sub", "subtract", "sum", "svd",
    "svd_lowrank", "swapaxes", "swapdims", "t", "t_copy", "take", "take_along_dim", "tan", "tan_",
    "tanh", "tanh_", "tensor", "tensor_buffer", "tensor_scatter_nd_add", "tensor_scatter_nd_update",
    "tensor_split", "tensordot", "threshold", "threshold_", "tile", "to", "to_consistent",
    "to_dlpack", "to_global", "to_local", "topk", "trace", "transpose", "transpose_copy",
    "trapezoid", "trapz", "triangular_solve", "tril", "tril_indices", "triplet_margin_loss", "triu",
    "triu_indices", "true_divide", "trunc", "trunc_", "typename", "uint8", "uint16", "uint32",
    "uint64", "unbind", "unbind_copy", "unflatten", "unfold_copy", "unique", "unique_consecutive",
    "unravel_index", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes",
    "unsorted_batch_segment_sum", "unsorted_segment_sum", "unsorted_segment_sum_like", "unsqueeze",
    "unsqueeze_copy", "use_deterministic_algorithms", "vander", "var", "var_mean", "vdot", "view",
    "view_as_complex", "view_as_real", "view_copy", "vsplit", "vstack", "where", "xlogy", "xlogy_",
    "zero_", "zero_pad2d", "zeros", "zeros_like",
]
# fmt: on
