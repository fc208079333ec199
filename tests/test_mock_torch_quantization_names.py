"""Names that libraries of quantized tensors import, beside PyTorch's."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.in_place import enabled, in_place_of, module_of

WIDTHS = range(1, 8)
#: Modules, and what libraries take from each.
NAMES = [
    "torch Tag _has_compatible_shallow_copy_type float4_e2m1fn_x2 "
    + " ".join(f"int{width} uint{width}" for width in WIDTHS),
    "torch._C Tag",
    "torch._C._cpu _init_amx",
    "torch._dynamo.utils counters disable_cache_limit warn_once",
    "torch._higher_order_ops.inline_asm_elementwise inline_asm_elementwise",
    "torch._higher_order_ops.out_dtype out_dtype",
    "torch._inductor.decomposition decompositions register_decomposition",
    "torch._library.infer_schema infer_schema",
    "torch._prims_common suggest_memory_format",
    "torch._utils _set_obj_state",
    "torch.ao.quantization.fx._decomposed _per_token_quant_qparam_dim_check",
    "torch.cpu _is_amx_fp16_supported _is_amx_tile_supported _is_avx2_supported "
    "_is_avx512_bf16_supported _is_avx512_supported _is_vnni_supported",
    "torch.distributed._functional_collectives AsyncCollectiveTensor",
    "torch.distributed.tensor.experimental local_map register_sharding",
    "torch.library triton_op wrap_triton",
    "torch.nn.functional ScalingType SwizzleType scaled_grouped_mm scaled_mm",
    "torch.sparse SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT "
    "SparseSemiStructuredTensorCUTLASS to_sparse_semi_structured",
    "torch.sparse._triton_ops_meta get_meta minimize update",
    "torch.utils._pytree ConstantNode is_constant_class register_constant",
    "torch.utils._triton get_triton_version has_datacenter_blackwell_tma_device has_triton "
    "has_triton_experimental_host_tma has_triton_package has_triton_stable_tma_api "
    "has_triton_tensor_descriptor_host_tma has_triton_tma has_triton_tma_device",
]
#: Names whose use is refused here, with what the error says.
REFUSED = {
    "torch.distributed._functional_collectives.AsyncCollectiveTensor": "to_global",
    "torch.distributed.tensor.experimental.local_map": "to_local",
    "torch.distributed.tensor.experimental.register_sharding": "split",
    "torch._higher_order_ops.inline_asm_elementwise.inline_asm_elementwise": "instructions",
    "torch.library.wrap_triton": "pallas",
    "torch.nn.functional.scaled_grouped_mm": "grouped_mm",
    "torch.nn.functional.scaled_mm": "8-bit floats",
    "torch.sparse.SparseSemiStructuredTensorCUTLASS": "to_sparse",
    "torch.sparse.to_sparse_semi_structured": "to_sparse",
    "torch.sparse._triton_ops_meta.minimize": "Triton",
    "torch.sparse._triton_ops_meta.update": "Triton",
    "torch.ops._c10d_functional.wait_tensor": "torch.distributed",
    "torch.ops.c10d.scatter_.default": "torch.distributed",
}


@contextlib.contextmanager
def _in_place(library: Any) -> Any:
    with contextlib.nullcontext() if library is torch else enabled():
        yield


def _outcome(program: Callable[[Any], Any], library: Any) -> Any:
    with _in_place(library):
        try:
            return program(library)
        except Exception as error:
            return type(error).__name__


@pytest.mark.parametrize("row", NAMES, ids=lambda row: row.split()[0])
def test_names(row: str) -> None:
    path, *names = row.split()
    for library in (torch, in_place_of("torch")):
        module = module_of(library, path)
        assert [name for name in names if not hasattr(module, name)] == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_act_says_what_can(name: str) -> None:
    path, _, attribute = name.rpartition(".")
    with enabled():
        home = in_place_of(path) if "torch.ops" not in name else in_place_of("torch.ops")
        for part in name.split(".")[2:] if "torch.ops" in name else [attribute]:
            home = getattr(home, part)
        with pytest.raises(NotImplementedError, match=REFUSED[name]):
            home(1)


@pytest.mark.parametrize("width", WIDTHS)
def test_narrow_integers(width: int) -> None:
    def traits(library: Any) -> list[Any]:
        dtypes = [getattr(library, f"{sign}int{width}") for sign in ("", "u")]
        return [
            [str(d), d.itemsize, d.is_signed, d.is_floating_point, d.is_complex] for d in dtypes
        ]

    def refusals(library: Any) -> list[Any]:
        dtype = getattr(library, f"uint{width}")
        programs: list[Callable[[Any], Any]] = [
            lambda x: x.ones(2, dtype=dtype),
            lambda x: x.full((2,), 1, dtype=dtype),
            lambda x: x.arange(3, dtype=dtype),
            lambda x: x.ones(2).to(dtype),
        ]
        return [_outcome(program, library) for program in programs]

    ours = in_place_of("torch")
    with enabled():
        mine = traits(ours)
        with pytest.raises(NotImplementedError, match=f"not implemented for 'Int{width}'"):
            ours.zeros(2, dtype=getattr(ours, f"int{width}"))
    assert mine == traits(torch)
    assert refusals(ours) == refusals(torch) == ["NotImplementedError"] * 4


@pytest.mark.parametrize("name", ["nn.functional.ScalingType", "nn.functional.SwizzleType", "Tag"])
def test_members_and_their_numbers(name: str) -> None:
    def members(library: Any) -> dict[str, int]:
        kind = library
        for part in name.split("."):
            kind = getattr(kind, part)
        return {key: int(member) for key, member in kind.__members__.items()}

    assert members(in_place_of("torch")) == members(torch)


def _int8(library: Any, *shape: int) -> Any:
    return library.tensor(np.random.default_rng(shape).integers(-128, 128, shape, dtype=np.int8))


def _result(x: Any) -> Any:
    return str(x.dtype).rpartition(".")[2], x.tolist()


#: Calls of `out_dtype`: the operator, the dtype of the result, and the arguments.
PRODUCTS: dict[str, Callable[[Any], tuple]] = {
    "mm of int8": lambda x: ("mm.default", x.int32, _int8(x, 3, 8), _int8(x, 8, 4)),
    "linear of int8": lambda x: ("linear.default", x.int32, _int8(x, 3, 8), _int8(x, 2, 8)),
    "mm of floats": lambda x: ("mm.default", x.float64, x.ones(2, 3) / 3, x.ones(3, 2) / 7),
    "mm in half precision": lambda x: ("mm.default", x.bfloat16, x.ones(2, 3), x.ones(3, 2) / 7),
    "mul by a float": lambda x: ("mul.Scalar", x.int32, _int8(x, 3), 2.5),
    "div of integers": lambda x: ("div.Tensor", x.int32, _int8(x, 3, 2), _int8(x, 2) | 1),
    "div by a number": lambda x: ("div.Scalar", x.int32, _int8(x, 5), 2),
    "another operator": lambda x: ("add.Tensor", x.float64, x.ones(2), x.ones(2)),
    "one that writes": lambda x: ("mul_.Tensor", x.float64, x.ones(2), x.ones(2)),
    "one without an overload": lambda x: ("mm", x.float64, x.ones(2, 2), x.ones(2, 2)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_results_of_a_dtype_of_their_own(name: str) -> None:
    def program(library: Any) -> Any:
        path, dtype, *args = PRODUCTS[name](library)
        operator = library.ops.aten
        for part in path.split("."):
            operator = getattr(operator, part)
        home = module_of(library, "torch._higher_order_ops.out_dtype")
        return _result(home.out_dtype(operator, dtype, *args))

    assert _outcome(program, in_place_of("torch")) == _outcome(program, torch)


def test_results_of_a_dtype_of_their_own_have_no_gradient() -> None:
    def program(library: Any) -> Any:
        x = library.ones(2, 2, requires_grad=True)
        home = module_of(library, "torch._higher_order_ops.out_dtype")
        result = home.out_dtype(library.ops.aten.mm.default, library.float64, x, x)
        with pytest.raises(RuntimeError, match="not implemented for out_dtype"):
            result.sum().backward()
        return result.requires_grad

    assert _outcome(program, in_place_of("torch")) is _outcome(program, torch) is True


#: Programs that give the same here and in PyTorch.
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "numbers of algorithms": lambda x: (
        module_of(x, "torch.sparse").SparseSemiStructuredTensorCUTLASS._DEFAULT_ALG_ID
    ),
    "elements of sparse tensors": lambda x: x.ops.aten._nnz.default(x.eye(3).to_sparse()),
    "products of uint8 and int8": lambda x: _result(
        x._int_mm(_int8(x, 3, 8).view(x.uint8), _int8(x, 8, 4))
    ),
    "products of int8 and uint8": lambda x: x._int_mm(_int8(x, 3, 8), _int8(x, 8, 4).view(x.uint8)),
    "products of int8, the operator": lambda x: _result(
        x.ops.aten._int_mm.default(_int8(x, 3, 8), _int8(x, 8, 4))
    ),
    "copies": lambda x: [
        x._has_compatible_shallow_copy_type(one, other)
        for one in _layouts(x)
        for other in _layouts(x)
    ],
    "instructions of the processor": lambda x: [
        getattr(module_of(x, "torch.cpu"), f"_is_{name}_supported")()
        for name in ("avx2", "avx512", "avx512_bf16", "vnni", "amx_tile", "amx_fp16")
    ],
    "Triton": lambda x: (
        module_of(x, "torch.utils._triton").has_triton(),
        module_of(x, "torch.utils._triton").has_triton_tma_device(),
        module_of(x, "torch.utils._triton").get_triton_version((1, 2)),
        module_of(x, "torch.sparse._triton_ops_meta").get_meta("scatter_mm", (1, 2, 3)),
    ),
    "warnings": lambda x: _warnings(module_of(x, "torch._dynamo.utils")),
    "limits": lambda x: _limits(x, module_of(x, "torch._dynamo.utils")),
    "states": lambda x: [
        sorted(vars(module_of(x, "torch._utils")._set_obj_state(_Plain(), state)).items())
        for state in ({"a": 1}, ({"a": 1}, {"b": 2}), None, (None, {"b": 2}))
    ],
    "a state of three parts": lambda x: module_of(x, "torch._utils")._set_obj_state(
        _Plain(), (1, 2, 3)
    ),
    "scales of rows": lambda x: [
        _outcome(lambda _, s=size: _check_scales(x, s), x) for size in ((2, 3), (6,), (2, 1))
    ],
    "constants": lambda x: _constants(module_of(x, "torch.utils._pytree")),
    "orders of memory": lambda x: [
        str(module_of(x, "torch._prims_common").suggest_memory_format(image)).rpartition(".")[2]
        for image in _images(x)
    ],
    "classes of linear layers": lambda x: [
        isinstance(layer, x.nn.modules.linear.NonDynamicallyQuantizableLinear)
        for layer in (x.nn.Linear(2, 2), x.nn.MultiheadAttention(2, 1).out_proj)
    ],
    "attention as text": lambda x: repr(x.nn.MultiheadAttention(4, 2)),
}


class _Plain:
    pass


class _Constant:
    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Constant) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)


class _WithoutHash(_Constant):
    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return True


def _layouts(x: Any) -> list[Any]:
    eye = x.eye(2)
    return [eye, x.ones(3, dtype=x.float64), eye.to_sparse(), eye.to_sparse_csr(), eye.to("meta")]


def _check_scales(x: Any, size: tuple[int, ...]) -> None:
    home = module_of(x, "torch.ao.quantization.fx._decomposed")
    home._per_token_quant_qparam_dim_check(x.ones(2, 3, 4), x.ones(size), x.ones(6))


def _warnings(home: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for message in ("first of these", "first of these", "second of these"):
            home.warn_once(message)
    return [f"{entry.category.__name__} {entry.message} {entry.filename}" for entry in caught]


def _limits(x: Any, home: Any) -> list[bool]:
    config = module_of(x, "torch._dynamo.config")
    before = config.recompile_limit
    with home.disable_cache_limit():
        inside = config.recompile_limit
    return [inside > 10**9, config.recompile_limit == before]


def _constants(trees: Any) -> list[Any]:
    class Own(_Constant):
        pass

    trees.register_constant(Own)
    leaves, spec = trees.tree_flatten([1, Own(2)])
    outcomes = [trees.is_constant_class(Own), trees.is_constant_class(int), leaves]
    outcomes.append(trees.tree_unflatten([3], spec) == [3, Own(2)])
    outcomes.append(spec == trees.tree_flatten([1, Own(2)])[1])
    outcomes.append(spec == trees.tree_flatten([1, Own(3)])[1])
    for kind in (_Plain, _WithoutHash):
        with pytest.raises(TypeError, match="non-default"):
            trees.register_constant(kind)
    return outcomes


def _images(x: Any) -> list[Any]:
    four, five = x.ones(2, 3, 4, 5), x.ones(2, 3, 4, 5, 6)
    return [
        four,
        five,
        five.permute(0, 4, 1, 2, 3),
        x.ones(2, 1, 4, 5),
        x.ones(2, 4, 5, 1).permute(0, 3, 1, 2),
        x.ones(2, 1, 1, 1).permute(0, 3, 1, 2),
        x.ones(0, 4, 5, 3).permute(0, 3, 1, 2),
        four.permute(0, 2, 3, 1),
        four.permute(0, 3, 1, 2),
        x.ones(2, 4, 4, 6)[:, :, ::2, ::2],
        x.ones(1, 4, 4, 6).expand(2, 4, 4, 6),
        x.ones(2, 3).t(),
        x.ones(3).to_sparse(),
    ]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_programs_give_the_same(name: str) -> None:
    assert _outcome(PROGRAMS[name], in_place_of("torch")) == _outcome(PROGRAMS[name], torch)
