"""Names of this package's classes and functions in PyTorch's files, and what those stand for.

A class here may be defined in another module than PyTorch's. So it gets a public name, which leads
to PyTorch's class wherever PyTorch defines it.
"""

from __future__ import annotations

import functools
import inspect
from types import FunctionType
from typing import Any

from oneflow.base.device import Device
from oneflow.checkpoint.code_names import name_of_function
from oneflow.checkpoint.torch_names import PYTORCH_NAMES, PyTorchNames
from oneflow.mock_torch.modules import MODULE_IN_PLACE
from oneflow.module.parameter import Parameter

# Classes of storages say that they are PyTorch's.
_HERE = ("oneflow", "torch")
_EXTENSIONS = "oneflow.mock_torch.pytorch"
_IN_PLACE = "oneflow.mock_torch."
#: The modules in which PyTorch's public names are looked up, in this order. `torch` has functions
#: here that PyTorch has among those of layers alone.
_PUBLIC = (
    *("torch.nn.functional", "torch", "torch.linalg", "torch.fft", "torch.special", "torch.nn"),
    *("torch.nn.init", "torch.nn.parameter"),
    *("torch.optim", "torch.optim.lr_scheduler", "torch.optim.swa_utils", "torch.utils.data"),
    *("torch.nn.utils", "torch.nn.utils.prune", "torch.nn.utils.parametrize"),
    *("torch.distributions", "torch.distributions.constraints", "torch.distributions.transforms"),
    *("torch.amp", "torch.cuda.amp", "torch.autograd", "torch.func", "torch.sparse"),
    *("torch.nested", "torch.ao.quantization", "torch.return_types"),
)
# Further names, also of classes that are not public: files name those of a model's parts.
_ADDITIONAL = {
    "torch.amp.grad_scaler": "OptState _refresh_per_optimizer_state",
    "torch.autograd.function": "FunctionCtx InplaceFunction once_differentiable",
    "torch.autograd.graph": "save_on_cpu saved_tensors_hooks",
    "torch.distributions.constraint_registry": "ConstraintRegistry",
    "torch.distributions.relaxed_bernoulli": "LogitRelaxedBernoulli",
    "torch.distributions.relaxed_categorical": "ExpRelaxedCategorical",
    "torch.nn.modules.batchnorm": "_BatchNorm",
    "torch.nn.modules.conv": "_ConvNd",
    "torch.nn.modules.instancenorm": "_InstanceNorm",
    "torch.nn.modules.module": "_WrappedHook",
    "torch.nn.modules.loss": "_Loss _WeightedLoss",
    "torch.nn.modules.padding": (
        "_CircularPadNd _ConstantPadNd _ReflectionPadNd _ReplicationPadNd"
    ),
    "torch.nn.utils.parametrizations": (
        "orthogonal spectral_norm weight_norm _Orthogonal _SpectralNorm _WeightNorm"
    ),
    "torch.nn.utils.rnn": (
        "PackedSequence invert_permutation pack_padded_sequence pack_sequence "
        "pad_packed_sequence pad_sequence unpack_sequence unpad_sequence"
    ),
    "torch.nn.utils.spectral_norm": (
        "SpectralNorm SpectralNormLoadStateDictPreHook SpectralNormStateDictHook"
    ),
    "torch.nn.utils.weight_norm": "WeightNorm",
    "torch.optim.lr_scheduler": (
        "CyclicLR._exp_range_scale_fn CyclicLR._triangular2_scale_fn CyclicLR._triangular_scale_fn"
    ),
    "torch.optim.swa_utils": "SWALR._cosine_anneal SWALR._linear_anneal",
    "torch.torch_version": "TorchVersion",
    "torch.utils._pytree": "GetAttrKey LeafSpec MappingKey SequenceKey TreeSpec",
    "torch.utils.checkpoint": "checkpoint checkpoint_sequential",
    "torch.utils.data.dataloader": "_InfiniteConstantSampler",
    "torch.utils.hooks": "RemovableHandle",
}
# Names that PyTorch's public modules have here alone: its files hold none of them.
_ONLY_HERE = {
    "torch.return_types": "program_name",
    "torch.nested": "NestedTensor",
    "torch.sparse": "SparseTensor hspmm smm sspaddmm",
    "torch.autograd": "hessian hvp jacobian jvp vhp vjp",
    "torch.amp": "StaticGradScaler autocast_decorator",
    "torch.distributions.constraints": (
        "Boolean Cat CorrCholesky Dependent GreaterThan GreaterThanEq HalfOpenInterval "
        "IndependentConstraint IntegerGreaterThan IntegerInterval Interval LessThan "
        "LowerCholesky LowerTriangular MultinomialCounts OneHot PositiveDefinite "
        "PositiveSemidefinite Real Simplex Square Stack Symmetric cholesky_ex eigvalsh"
    ),
    "torch.utils.data": "WorkerInfo",
    "torch.optim.lr_scheduler": "CosineDecayLR WarmUpLR WarmupLR",
    "torch.optim": "LAMB",
    "torch.optim.swa_utils": "by_place to_place unwrap wrap",
    "torch.nn.init": "calc_fan get_data_format",
    "torch.nn": (
        "AdaptiveLogSoftmaxOutput CombinedMarginLoss DistributedPariticalFCSample "
        "FakeQuantization FusedBatchNorm1d FusedBatchNorm2d FusedBatchNorm3d FusedMLP "
        "LazyModuleMixin MinMaxObserver MovingAverageMinMaxObserver QatConv1d QatConv2d "
        "QatConv3d Quantization QuickGELU RMSLayerNorm SquareReLU ctc_greedy_decoder "
        "fused_scale_tril fused_self_attention_query_mul_key_and_value"
    ),
    "torch.nn.functional": (
        "combined_margin_loss ctc_greedy_decoder deform_conv2d interpolate_like l2_normalize "
        "log_sigmoid quick_gelu sparse_softmax_cross_entropy square_relu"
    ),
    "torch": (
        "ComplexDoubleTensor ComplexFloatTensor batch_gather broadcast_like cast "
        "combined_margin_loss contiguous convert_oneflow_dtype_to_numpy_dtype deform_conv2d "
        "dim_gather distributed_partial_fc_sample div_ dtypes dynamic_reshape equal_to erfinv_ "
        "expand gather_nd get_printoptions global_to_global gt_ in_top_k index_add_ lerp_ "
        "local_to_global "
        "logical_slice logical_slice_assign masked_fill_ new_empty new_full new_ones new_zeros "
        "nms placement quick_gelu repeat roc_auc_score roi_align scatter_nd slice slice_update "
        "slice_v2 square_relu tensor_scatter_nd_add tensor_scatter_nd_update to to_consistent "
        "to_global to_local view"
    ),
}
# Functions of OneFlow's first versions; PyTorch has those of the same names elsewhere.
_LEGACY = "oneflow.legacy_functions."
# PyTorch trusts files that name this class in the module that defines it.
_DEFINED = {Parameter: ("torch.nn.parameter", "Parameter"), Device: ("torch", "device")}
# PyTorch's compiled functions are pickled as what defines them: a module, with a prefix of its
# names, or a class.
_COMPILED = {
    "torch._C._nn": ("torch.nn.functional", ""),
    "torch._C._linalg": ("torch.linalg", "linalg_"),
    "torch._C._special": ("torch.special", "special_"),
    "torch._C._fft": ("torch.fft", "fft_"),
}
_COMPILED_CLASSES = {
    ("torch._C", "_VariableFunctionsClass"): ("torch", ""),
    ("torch._C", "TensorBase"): ("torch", "Tensor"),
    ("torch._C", "_TensorBase"): ("torch", "Tensor"),
}


def names_of(obj: Any) -> list[tuple[str, str]]:
    """Return the names that files may have for a class or function: its own, and PyTorch's."""
    home, name = obj.__module__, obj.__qualname__
    public = name_of(obj)
    return [(home, name), *([(_module_like(home), name), public] if public else [])]


def name_of(obj: Any) -> tuple[str, str] | None:
    """Return module and name in PyTorch of a class or function; None for those it does not have."""
    home = getattr(obj, "__module__", None)
    is_here = isinstance(home, str) and home.partition(".")[0] in _HERE
    return _name_of(obj) if is_here and isinstance(obj, type | FunctionType) else None


@functools.cache
def _name_of(obj: Any) -> tuple[str, str] | None:
    place = _public_names().get(obj)
    if place is not None:
        return place
    # Modules have functions that are called otherwise, or ask no override, in PyTorch's place.
    path = name_of_function(obj)
    return None if path is None else _place_of_copy(obj, path.rpartition(".")[2])


def _place_of_copy(function: Any, name: str) -> tuple[str, str] | None:
    """Return where the copy of a function in PyTorch's place is."""
    original = inspect.unwrap(function)
    for module in _PUBLIC:
        copy = _members(module).get(name)
        if isinstance(copy, FunctionType) and inspect.unwrap(copy) is original:
            return module, name
    return None


@functools.cache
def _public_names() -> dict[Any, tuple[str, str]]:
    """Return the public names of classes and functions: their own, if there are several."""
    names: dict[Any, tuple[str, str]] = dict(_DEFINED)
    for module in _PUBLIC:
        of_module: dict[Any, tuple[str, str]] = {}
        for name, member in _members(module).items():
            if member not in of_module or name == member.__qualname__:
                of_module[member] = module, name
        names = {**of_module, **names}
    for module, members in _ADDITIONAL.items():
        for name in members.split():
            names.setdefault(object_named(module, name), (module, name))
    return names


@functools.cache
def _members(module: str) -> dict[str, Any]:
    """Return the public classes and functions here that PyTorch has in a module, too."""
    kinds = (FunctionType,) if module == _PUBLIC[0] else (type, FunctionType)
    only_here = _ONLY_HERE.get(module, "").split()
    return {
        name: member
        for name, member in vars(MODULE_IN_PLACE.value(module)).copy().items()
        if isinstance(member, kinds)
        and not name.startswith("_")
        and name not in only_here
        and not inspect.unwrap(member).__module__.startswith(_LEGACY)
    }


def _module_like(home: str) -> str:
    """Return the module of PyTorch at the path of one here."""
    if home.startswith(f"{_IN_PLACE}torch."):
        return home.removeprefix(_IN_PLACE)
    for prefix in (_EXTENSIONS, "oneflow"):
        if f"{home}.".startswith(f"{prefix}."):
            return "torch" + home.removeprefix(prefix)
    return home


def object_named(module: str, name: str) -> Any:
    """Return what has a name in a module in PyTorch's place.

    Raises:
        ImportError: there is no such module.
        AttributeError: it has no such name.
    """
    if module in _COMPILED:
        module, prefix = _COMPILED[module]
        name = name.removeprefix(prefix)
    module, name = _COMPILED_CLASSES.get((module, name), (module, name))
    path = name.split(".") if name else []
    return functools.reduce(getattr, path, MODULE_IN_PLACE.value(module))


PYTORCH_NAMES.fill(PyTorchNames(name_of, object_named))
