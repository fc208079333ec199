"""Complex numbers as pairs, since no operator of ONNX computes with complex ones.

Within an export a complex value is one of real numbers with a dimension of 2 more at the end: real
and imaginary part. Operators that are linear in their complex operands are applied to both parts,
products of two become four products; the rest is written in
`oneflow_onnx.oneflow2onnx.decompositions.complex`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from oneflow.base.dtype import DType, dtype_named
from oneflow.base.function_table import FunctionTable
from oneflow.base.spec import TensorSpec, spec_of
from oneflow.primitives.operation import Operation
from oneflow.primitives.sharding.linearity import linear_operands
from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.lowering import Call, Unsupported
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import Dim
from oneflow_onnx.oneflow2onnx.trace import TracedValue

# Writes a call with complex operands or results, given which operands are complex; None: it is
# written as what is linear in them.
ComplexLowering = Callable[[OnnxBuilder, Call, Sequence[bool]], "Ref | Sequence[Ref] | None"]
# Writes a call of real numbers, given with its operations.
RealLowering = Callable[[Call, Sequence[Operation]], "list[Ref | None]"]

COMPLEX_LOWERINGS: FunctionTable[ComplexLowering] = FunctionTable("a complex lowering of")
complex_lowering = COMPLEX_LOWERINGS.register
# Imported for the first complex number; most exports have none.
_DECOMPOSITIONS = "oneflow_onnx.oneflow2onnx.decompositions.complex"


def is_complex(dtype: np.dtype) -> bool:
    """Return True for the types of complex numbers."""
    return dtype.kind == "c"


def as_stored(kind: TracedValue) -> TracedValue:
    """Return the type in which a value is written: pairs for complex numbers."""
    if not is_complex(kind.dtype):
        return kind
    return TracedValue((*kind.shape, 2), np.real(np.empty(0, kind.dtype)).dtype)


def stored(array: np.ndarray) -> np.ndarray:
    """Return an array as it is written: complex numbers as pairs."""
    return np.stack([np.real(array), np.imag(array)], -1) if is_complex(array.dtype) else array


def parts(b: OnnxBuilder, x: Ref) -> tuple[Ref, Ref]:
    """The real and the imaginary parts of pairs."""
    if x not in b.parts:
        places = [b.constant(np.int64(place)) for place in (0, 1)]
        re, im = (o.gather(b, x, index, x.rank - 1) for index in places)
        b.parts[x] = re, im
    return b.parts[x]


def joined(b: OnnxBuilder, re: Ref, im: Ref, shape: Sequence[Dim]) -> Ref:
    """Pairs of real and imaginary parts, broadcast to `shape`."""
    both = [o.expand(b, part, shape) for part in (re, im)]
    pairs = o.concat(b, [o.unsqueeze(b, part, [len(shape)]) for part in both], len(shape))
    b.parts[pairs] = both[0], both[1]
    return pairs


def has_complex(operation: Operation) -> bool:
    """Return True for an operation with complex operands or results."""
    return any(spec.dtype.is_complex for spec in (*operation.in_specs, *operation.out_specs))


def lower_complex(
    b: OnnxBuilder, call: Call, operations: Sequence[Operation], write: RealLowering
) -> list[Ref | None]:
    """Write a call with complex operands or results, which are pairs.

    Raises:
        Unsupported: it is neither linear in them nor in the table.
    """
    flags = [spec.dtype.is_complex for spec in operations[0].in_specs]
    operands = list(call.operands)
    for place, operand in enumerate(operands):
        if flags[place] and operand.constant is not None and not operand.constant[..., 1].any():
            flags[place], operands[place] = False, b.constant(operand.constant[..., 0])
    call = replace(call, operands=operands)
    importlib.import_module(_DECOMPOSITIONS)
    lower = COMPLEX_LOWERINGS.get(call.primitive)
    lowered = None if lower is None else lower(b, call, flags)
    if lowered is not None:
        return [lowered] if isinstance(lowered, Ref) else list(lowered)
    if not all(spec.dtype.is_complex for spec in operations[0].out_specs):
        raise Unsupported("complex numbers, with which ONNX does not compute")
    shapes = [kind.shape[:-1] for kind in call.results]
    kinds = [
        TracedValue(shape, kind.dtype) for shape, kind in zip(shapes, call.results, strict=True)
    ]
    attributes = {name: _real_attribute(value) for name, value in call.attributes.items()}
    real_call = replace(call, attributes=attributes, results=kinds)
    real_operations = [_real_operation(operation) for operation in operations]

    def write_real(operands: Sequence[Ref]) -> list[Ref]:
        refs = write(replace(real_call, operands=operands), real_operations)
        return [b.cast(ref, kinds[0].dtype) for ref in refs if ref is not None]

    re, im = _components(b, operands, flags, operations[0], write_real)
    return [joined(b, *pair) for pair in zip(re, im, shapes, strict=True)]


def _components(
    b: OnnxBuilder,
    operands: Sequence[Ref],
    flags: Sequence[bool],
    operation: Operation,
    write: Callable[[Sequence[Ref]], list[Ref]],
) -> tuple[list[Ref], list[Ref]]:
    """The real and the imaginary parts of results."""
    places = frozenset(
        place for place, is_complex_operand in enumerate(flags) if is_complex_operand
    )
    sets = linear_operands(operation)
    split = {place: parts(b, operands[place]) for place in places}

    def with_parts(*which: int) -> list[Ref]:
        """The operands with one part in the place of each complex one."""
        taken = dict(zip(sorted(places), which, strict=True))
        return [
            split[place][taken[place]] if place in places else operand
            for place, operand in enumerate(operands)
        ]

    if not places and "dtype" in operation.attributes:
        re = write(operands)
        return re, [o.filled(b, part.shape, 0, part.dtype) for part in re]
    linear_set = next((linear for linear in sets if places and places <= linear), None)
    if linear_set is not None:
        imag = with_parts(*[1] * len(places))
        for place in linear_set - places:
            operand = operands[place]
            imag[place] = o.filled(b, operand.shape, 0, operand.dtype)
        return write(with_parts(*[0] * len(places))), write(imag)
    if len(places) == 2 and all(frozenset({factor}) in sets for factor in places):
        products = {which: write(with_parts(*which)) for which in ((0, 0), (1, 1), (0, 1), (1, 0))}
        return (
            _merged(b, "Sub", products[0, 0], products[1, 1]),
            _merged(b, "Add", products[0, 1], products[1, 0]),
        )
    raise Unsupported("complex numbers, with which ONNX does not compute")


def _merged(b: OnnxBuilder, name: str, one: Iterable[Ref], other: Iterable[Ref]) -> list[Ref]:
    return [b.op(name, *pair) for pair in zip(one, other, strict=True)]


def _real_dtype(dtype: DType) -> DType:
    return dtype_named(f"float{4 * dtype.itemsize}") if dtype.is_complex else dtype


def _real_attribute(value: object) -> object:
    return _real_dtype(value) if isinstance(value, DType) else value


def _real_operation(operation: Operation) -> Operation:
    """The operation on real numbers of the same precision."""
    attributes = {name: _real_attribute(value) for name, value in operation.attributes.items()}
    attributes["device"] = operation.device
    specs = tuple([_real_spec(spec) for spec in operation.in_specs])
    return Operation(operation.primitive, attributes, specs, operation.is_scalar)


def _real_spec(spec: TensorSpec) -> TensorSpec:
    return spec_of(spec.shape, _real_dtype(spec.dtype), spec.device, spec.sbp)
