"""`Operation`: one primitive applied to operands of known shape and dtype. Interned by dispatch."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from oneflow.base.device import xla_device
from oneflow.base.dtype import HALF_DTYPES, DType, dtype_named, float32
from oneflow.base.placement import Placement, Sharding
from oneflow.base.planning import is_planning
from oneflow.base.sbp import NdSbp, nd_sbp_of
from oneflow.base.spec import TensorSpec, spec_of, with_sbp
from oneflow.primitives.inference import infer
from oneflow.primitives.registry import COMPUTED, NO_GRADIENT, Primitive, Rule
from oneflow.primitives.shard_index import ShardIndex
from oneflow.primitives.shard_shapes import traced_offsets

_ALL_OPERANDS = "all_operands"


@dataclass(frozen=True)
class Signature:
    """The SBP of operands and results by which an operation on global tensors is computed.

    Attributes:
        inputs: the SBP of each operand.
        outputs: the SBP of each result.
        attributes: with which every device computes its shard.
    """

    inputs: tuple[NdSbp, ...]
    outputs: tuple[NdSbp, ...]
    attributes: Mapping[str, Any]


class Operation:
    """A primitive with its attributes, operand specs and inferred output specs.

    Python-number operands have a 0-dim spec too and `is_scalar` marks them: they are run-time
    inputs. The rules of `oneflow.primitives.sharding.signatures` choose the signature of one on
    global tensors.
    """

    __slots__ = (
        "attributes",
        "backward_rules",
        "device",
        "differentiable",
        "in_specs",
        "is_scalar",
        "out_differentiable",
        "out_specs",
        "primitive",
        "signature",
        "simple",
        "single",
        "trace",
    )

    def __init__(
        self, primitive: Primitive, attributes: dict, in_specs: tuple, is_scalar: tuple
    ) -> None:
        self.primitive = primitive
        self.device = _device_of(primitive, attributes, in_specs, is_scalar)
        self.attributes = {name: value for name, value in attributes.items() if name != "device"}
        self.in_specs = in_specs
        self.is_scalar = is_scalar
        self.signature: Signature | None = None
        primitive.raise_unsupported(self.device.type, in_specs)
        inferred, self.trace = infer(primitive, self.attributes, in_specs, self.device)
        self.single = not isinstance(inferred, tuple)
        self.out_specs = inferred if isinstance(inferred, tuple) else (inferred,)
        self.simple = self.single and primitive.check is None
        self.out_differentiable = tuple(_is_differentiable(spec.dtype) for spec in self.out_specs)
        self.differentiable = primitive.differentiable and any(self.out_differentiable)
        self.backward_rules: dict[tuple[bool, ...], BackwardRules] = {}

    @property
    def count(self) -> int:
        """The number of results."""
        return len(self.out_specs)

    @property
    def needs_check(self) -> bool:
        """True if values are checked when it runs."""
        return self.primitive.check is not None

    def __repr__(self) -> str:
        operands = ", ".join(map(repr, self.in_specs))
        attributes = "".join(f", {name}={value!r}" for name, value in self.attributes.items())
        return f"{self.primitive.name}({operands}{attributes})"

    def set_signature(self, signature: Signature) -> None:
        """Set the signature, and with it the SBP of operands and results."""
        self.signature = signature
        self.trace = None  # on whole arrays
        self.in_specs = tuple(map(with_sbp, self.in_specs, signature.inputs))
        self.out_specs = tuple(map(with_sbp, self.out_specs, signature.outputs))

    def with_signature(self, signature: Signature) -> Operation:
        """Return a copy of the operation with a signature."""
        other = copy(self)
        other.backward_rules = {}
        other.set_signature(signature)
        return other

    def evaluate(self, *arrays: Any) -> Any:
        """Run the primitive on arrays, or trace it if they are tracers.

        On global tensors the arrays are this device's shards, within `shard_map`.
        """
        implementation = self.primitive.implementation(self.device.type)
        if self.signature is None:
            return implementation(*arrays, **self.attributes)
        attributes = self.signature.attributes
        positional = self.primitive.traits.positional
        if positional is not None:
            spec = self.shard_index_spec
            offsets = traced_offsets(spec.shape, self.device.hierarchy, spec.sbp)
            attributes = {**attributes, "shard": ShardIndex(spec.shape, offsets)}
        return implementation(*arrays, **attributes)

    @property
    def shard_index_spec(self) -> TensorSpec:
        """The spec of the tensor to which the `ShardIndex` of a positional primitive refers."""
        positional = self.primitive.traits.positional
        operand = positional and positional.operand
        return self.in_specs[operand_positions(self)[operand][0]] if operand else self.out_specs[0]

    def evaluate_unsharded(self, *arrays: Any) -> Any:
        """Run the primitive on whole arrays, whatever the sharding of the operands is."""
        return self.primitive.implementation(self.device.type)(*arrays, **self.attributes)

    def evaluate_check(self, *arrays: Any) -> Any:
        """The primitive's value check: `(is_bad, value)`."""
        attributes = self.attributes if self.signature is None else self.signature.attributes
        return self.primitive.check(*arrays, **attributes)

    def rules_for(self, needs_input_grad: tuple[bool, ...]) -> BackwardRules:
        """The rules of the backward pass when gradients of these operands are needed."""
        return self.backward_rules.setdefault(
            needs_input_grad, BackwardRules(self, needs_input_grad)
        )


def make_operation(primitive: Primitive, operands: tuple, attributes: dict) -> Operation:
    """The operation for operands that are specs or Python numbers.

    One on global tensors still needs a signature, see `oneflow.primitives.sharding.signatures`.
    """
    specs = [operand for operand in operands if isinstance(operand, TensorSpec)]
    device = specs[0].device if specs else attributes["device"]
    target = device.placement if isinstance(device, Sharding) else device
    broadcast_sbp = target.broadcast if isinstance(target, Placement) else None
    in_specs, is_scalar = [], []
    for position, operand in enumerate(operands):
        is_scalar.append(not isinstance(operand, TensorSpec))
        if is_scalar[-1]:
            dtype = _scalar_dtype(primitive, position, specs)
            operand = spec_of((), dtype, target, broadcast_sbp)
        in_specs.append(operand)
    return Operation(primitive, attributes, tuple(in_specs), tuple(is_scalar))


def requested_sbp(operation: Operation, device: Any) -> NdSbp | None:
    """The SBP requested of an operation that makes a new tensor; None where none is requested."""
    if not isinstance(device, Sharding):
        return None
    return nd_sbp_of(device.sbp, device.placement.ndim, operation.out_specs[0].ndim)


def _scalar_dtype(primitive: Primitive, position: int, specs: list[TensorSpec]) -> DType:
    """The dtype of a Python number at `position`: declared by the primitive, or the tensors'."""
    scalar = primitive.scalar
    if isinstance(scalar, Mapping):
        scalar = scalar.get(primitive.operands[position])
    if scalar is None:
        return _highest_dtype(specs)
    if scalar != COMPUTED:
        return dtype_named(scalar)
    dtype = _highest_dtype(specs)
    return float32 if dtype in HALF_DTYPES else dtype


def _device_of(primitive: Primitive, attributes: dict, in_specs: tuple, is_scalar: tuple) -> Any:
    devices = [spec.device for spec, scalar in zip(in_specs, is_scalar, strict=True) if not scalar]
    if not devices:
        device = attributes["device"]
        device = device.placement if isinstance(device, Sharding) else device
        # A missing device is an error here, not when it runs.
        if isinstance(device, Placement):
            device.require_devices()
        elif not (is_planning() or device.is_meta):
            xla_device(device)
        return device
    for device in devices:
        if device is not devices[0]:
            if isinstance(device, Placement) or isinstance(devices[0], Placement):
                raise RuntimeError(
                    f"`{primitive.name}` got tensors on `{devices[0]}` and `{device}`; bring them "
                    "together with `.to_global(placement, sbp)` (or `.to_local()`)"
                )
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but `{primitive.name}` got "
                f"tensors on `{devices[0]}` and `{device}`; move one with `.to(...)`"
            )
    return devices[0]


def _highest_dtype(specs: list[TensorSpec]) -> DType:
    return max((spec.dtype for spec in specs), key=lambda dtype: dtype.category)


def _is_differentiable(dtype: DType) -> bool:
    return dtype.is_floating_point or dtype.is_complex


class BackwardRules:
    """The values that a recorded call keeps for its backward pass, and the rules that use them.

    `positions` are the operands that need gradients, `saved` the operands to keep;
    `take_differentiated` and `take_saved` take them out of the operands. `saves_output` says
    whether outputs are kept as well. `writable` are the names of those that may be overwritten
    meanwhile.
    `zero_second` says whether gradients have a gradient, zeros, for operands they do not depend on.
    """

    __slots__ = (
        "_calls",
        "_constants",
        "_joint",
        "needs_input_grad",
        "operation",
        "positions",
        "saved",
        "saves_output",
        "take_differentiated",
        "take_saved",
        "writable",
        "zero_second",
    )

    def __init__(self, operation: Operation, needs_input_grad: tuple[bool, ...]) -> None:
        self.operation = operation
        self.needs_input_grad = needs_input_grad
        self.positions = tuple(p for p, want in enumerate(needs_input_grad) if want)
        self.take_differentiated = _make_getter(self.positions)
        rules = self._rules()
        self._joint = len(rules) == 1 and rules[0][0] == -1
        names = {
            **operand_positions(operation),
            _ALL_OPERANDS: tuple(range(len(operation.in_specs))),
        }
        saved_positions = {
            p for _, rule in rules for need in rule.needs for p in names.get(need, ())
        }
        self.saved = tuple(sorted(saved_positions))
        self.take_saved = _make_getter(self.saved)
        self.saves_output = any(need == "out" for _, rule in rules for need in rule.needs)
        self.writable = _writable(operation)
        zero_second = operation.primitive.zero_second_gradients
        self.zero_second = zero_second(operation) if callable(zero_second) else zero_second
        # A rule takes from a pool: the gradient, the output, the saved operands, then constants.
        first = 2 + len(self.saved)
        self._constants: list[Any] = []
        self._calls = []
        for _, rule in rules:
            indices, constants = self._pool_indices(rule, names, first + len(self._constants))
            self._constants += constants
            self._calls.append((rule.function, _make_getter(indices)))

    def _rules(self) -> list[tuple[int, Rule]]:
        """`(position, rule)` for each operand that needs a gradient; -1 for a joint rule."""
        primitive = self.operation.primitive
        gradients = primitive.gradients
        if not gradients:
            return [(-1, default_rule(primitive))]
        if "*" in gradients:
            return [(-1, gradients["*"])]
        rules = []
        for position, needs_grad in enumerate(self.needs_input_grad):
            name = primitive.operands[min(position, len(primitive.operands) - 1)].lstrip("*")
            if needs_grad:
                rules.append((position, gradients.get(name, NO_GRADIENT)))
        return rules

    def _pool_indices(self, rule: Rule, names: dict, first: int) -> tuple[list, list]:
        """The index of each argument of a rule in the pool, or the indices of a variadic argument.

        Also the constants it needs, which are at `first` and after it.
        """
        operation = self.operation
        variadic = (
            operation.primitive.operands[-1].lstrip("*") if operation.primitive.variadic else None
        )
        constants_by_name = self._constants_by_name(names, variadic)
        where = {position: 2 + index for index, position in enumerate(self.saved)}
        indices: list[Any] = []
        constants: list[Any] = []
        for need in rule.needs:
            if need in ("g", "out"):
                indices.append(0 if need == "g" else 1)
            elif need in names:
                operand_indices = tuple(where[p] for p in names[need])
                indices.append(
                    operand_indices if need in (variadic, _ALL_OPERANDS) else operand_indices[0]
                )
            elif need in constants_by_name:
                indices.append(first + len(constants))
                constants.append(constants_by_name[need])
            else:
                raise ValueError(
                    f"gradient of `{operation.primitive.name}` asks for unknown `{need}`"
                )
        return indices, constants

    def _constants_by_name(self, names: dict, variadic: str | None) -> dict[str, Any]:
        """Attributes and specs by the names rules may ask for them."""
        operation = self.operation
        constants = {
            **operation.primitive.attributes,
            **operation.attributes,
            "needs_input_grad": self.needs_input_grad,
            "all_attributes": operation.attributes,
            "out_spec": operation.out_specs[0] if operation.single else operation.out_specs,
        }
        for name, positions in names.items():
            if positions:
                specs = tuple(operation.in_specs[p] for p in positions)
                constants[f"{name}_spec"] = specs if name in (variadic, _ALL_OPERANDS) else specs[0]
        return constants

    def may_overwrite(self, position: int) -> bool:
        """Return whether the operand at `position` may be overwritten before the backward pass."""
        operands = self.operation.primitive.operands
        return operands[min(position, len(operands) - 1)].lstrip("*") in self.writable

    def run(self, grads: Sequence, saved: tuple, outputs: tuple) -> list:
        """Gradients of the operands that need them in order, None for zero.

        `grads` has one gradient per output; None only where the primitive's rule takes that.
        """
        if self.operation.single:
            pool = (grads[0], outputs[0] if outputs else None, *saved, *self._constants)
        else:
            pool = (tuple(grads), outputs, *saved, *self._constants)
        if self._joint:
            function, pick = self._calls[0]
            results = function(*pick(pool))
            return [results[position] for position in self.positions]
        return [function(*pick(pool)) for function, pick in self._calls]


def _writable(operation: Operation) -> frozenset[str]:
    """Names of values that the backward pass keeps and that may be overwritten before it."""
    primitive = operation.primitive
    if not primitive.gradients:  # a derived rule keeps all operands, needed or not
        return frozenset(name.lstrip("*") for name in primitive.operands)
    writable = primitive.writable
    return frozenset((writable(operation) if callable(writable) else writable).split())


def _make_getter(indices: Sequence) -> Callable[[tuple], tuple]:
    """A function that takes the entries at `indices` out of a pool, as quickly as may be."""
    if not any(isinstance(index, tuple) for index in indices):
        if len(indices) > 1:
            return operator.itemgetter(*indices)
        # `itemgetter` makes no tuple of one entry or none, but of a slice it does.
        first = indices[0] if indices else 0
        return operator.itemgetter(slice(first, first + len(indices)))

    def pick(pool: tuple) -> tuple:
        return tuple(
            tuple(pool[place] for place in index) if isinstance(index, tuple) else pool[index]
            for index in indices
        )

    return pick


def operand_positions(operation: Operation) -> dict[str, tuple[int, ...]]:
    """Positions of the operands behind each operand name."""
    operands = operation.primitive.operands
    names: dict[str, tuple[int, ...]] = {
        name: (position,) for position, name in enumerate(operands) if not name.startswith("*")
    }
    if operation.primitive.variadic:
        first = len(operands) - 1
        names[operands[-1].lstrip("*")] = tuple(range(first, len(operation.in_specs)))
    return names


def default_rule(primitive: Primitive) -> Rule:
    """The gradient of a primitive without rules: `jax.vjp` of its implementation, a primitive.

    It is that of the outputs that a gradient arrived at. Zeros for the others would become NaN
    where their slopes are infinite, as those of eigenvectors where eigenvalues repeat.
    """
    if primitive._vjp is None:
        primitive._vjp = _vjp_primitive(primitive)
    vjp = primitive._vjp

    def rule(g, needs_input_grad, all_operands, all_attributes):
        grads = g if isinstance(g, tuple) else (g,)
        outputs = tuple(position for position, grad in enumerate(grads) if grad is not None)
        argnums = tuple(position for position, want in enumerate(needs_input_grad) if want)
        results = vjp(
            *all_operands,
            *[grads[position] for position in outputs],
            argnums=argnums,
            outputs=outputs,
            inputs=len(all_operands),
            attributes=tuple(all_attributes.items()),
        )
        pairs = dict(zip(argnums, results, strict=True))
        return [pairs.get(position) for position in range(len(needs_input_grad))]

    return Rule(rule)


def _vjp_primitive(primitive: Primitive) -> Primitive:
    """The gradient as a primitive; it has the lowerings of the primitive that apply to it."""
    vjp = Primitive(f"{primitive.name}_vjp", _vjp_of(primitive.impl), vjp_of=primitive)
    for platform in primitive.differentiated_lowerings:
        gradient_lowering = vjp.lowering(platform, differentiate=True)
        gradient_lowering(_vjp_of(primitive.lowerings[platform]))
    return vjp


def _vjp_of(implementation: Callable) -> Callable:
    """The implementation of the gradient of a primitive that has this one."""

    def impl(*arguments, argnums, outputs, inputs, attributes):
        operands, cotangents = list(arguments[:inputs]), list(arguments[inputs:])

        def of_primals(*primals):
            full = list(operands)
            for position, value in zip(argnums, primals, strict=True):
                full[position] = value
            results = implementation(*full, **dict(attributes))
            results = results if isinstance(results, tuple | list) else (results,)
            return tuple(results[position] for position in outputs)

        _, vjp = jax.vjp(of_primals, *(operands[position] for position in argnums))
        # JAX's cotangent of a complex function is the conjugate of the gradient convention used
        # here.
        grads = vjp(tuple(jnp.conj(cotangent) for cotangent in cotangents))
        return tuple(jnp.conj(grad) for grad in grads)

    return impl
