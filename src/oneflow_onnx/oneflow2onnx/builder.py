"""`OnnxBuilder`: appends nodes to an ONNX graph and knows the type of every value."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from oneflow_onnx.oneflow2onnx.reference import Ref, onnx_type
from oneflow_onnx.oneflow2onnx.schemas import (
    compute_type,
    require_operator,
    require_result,
    type_parameters,
)
from oneflow_onnx.oneflow2onnx.sizes import (
    CapturedSize,
    Dim,
    DynamicSizeError,
    Shape,
    broadcast_shapes,
    combine,
    has_size,
    static,
)

INT64 = np.dtype(np.int64)
# The domain of nodes that stand for what ONNX does not have.
UNSUPPORTED_DOMAIN = "oneflow"
# Constants above this number of bytes are stored as initializers, not in `Constant` nodes.
_SMALL = 1024
# Attributes with facts about values; the graph around a subgraph does not see those made inside.
_SCOPED = ("reshaped", "sources", "parts", "final_states", "_constants", "_sizes", "_origins")


class OnnxBuilder:
    """Appends nodes to an ONNX graph.

    Attributes:
        opset: the opset that the graph is written in.
        nodes: the nodes so far.
        initializers: large constants.
        scope: path of the module that nodes are named after.
        primitive: the primitive that is being lowered, for the names of its results.
        reshaped: what values were before they were reshaped.
        sources: operator, inputs and attributes of the nodes with one output, by that output.
        parts: real and imaginary parts of complex values, by the pairs of these.
        final_states: the last of the states of a recurrent layer, by all of them.
        unavailable: values that could not be written, and why not.

    Args:
        opset: the opset to write.
    """

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.nodes: list[ir.Node] = []
        self.initializers: list[ir.Value] = []
        self.scope = ""
        self.primitive = ""
        self.reshaped: dict[Ref, Ref] = {}
        self.sources: dict[Ref, tuple[str, list[Ref | None], dict[str, Any]]] = {}
        self.parts: dict[Ref, tuple[Ref, Ref]] = {}
        self.final_states: dict[Ref, Ref] = {}
        self.unavailable: dict[ir.Value, str] = {}
        self._counts: defaultdict[str, itertools.count[int]] = defaultdict(itertools.count)
        self._constants: dict[tuple, Ref] = {}
        self._sizes: dict[CapturedSize, Ref] = {}
        self._origins: dict[CapturedSize, tuple[Ref, int]] = {}

    # --- nodes

    def op(
        self,
        name: str,
        *inputs: Ref | None,
        shape: Shape | None = None,
        dtype: np.dtype | None = None,
        **attributes: Any,
    ) -> Ref:
        """Append a node with one output.

        Args:
            name: the ONNX operator.
            inputs: its inputs; None leaves an optional one out.
            shape: the shape of the output; default: that of the inputs, broadcast.
            dtype: the dtype of the output; default: that of the first input.
            attributes: its attributes.

        Raises:
            NeedsOpset: the operator, or its type, came with a later opset.
        """
        operands = [operand for operand in inputs if operand is not None]
        shape = (
            broadcast_shapes([operand.shape for operand in operands]) if shape is None else shape
        )
        dtype = operands[0].dtype if dtype is None else dtype
        return self.multiple(name, inputs, [(shape, dtype)], **attributes)[0]

    def multiple(
        self,
        name: str,
        inputs: Sequence[Ref | None],
        outputs: Sequence[tuple[Shape, np.dtype] | None],
        **attributes: Any,
    ) -> list[Ref]:
        """Append a node with several outputs, given by their types; None leaves one out."""
        require_operator(name, self.opset)
        inputs, cast_back = self._promoted(name, list(inputs))
        while inputs and inputs[-1] is None:
            inputs.pop()
        wide = [
            None if kind is None else (kind[0], cast_back.get(place, kind[1]))
            for place, kind in enumerate(outputs)
        ]
        for place, kind in enumerate(wide):
            if kind is not None:
                require_result(name, self.opset, place, kind[1])
        results = [self._output(kind) for kind in wide]
        for key, value in attributes.items():
            if has_size(value):
                raise DynamicSizeError(
                    f"`{key}` of ONNX's `{name}` depends on a symbolic size; it must be a number"
                )
        node = ir.node(
            name,
            [None if operand is None else operand.value for operand in inputs],
            {key: value for key, value in attributes.items() if value is not None},
            outputs=[ref.value for ref in results],
            name=self._name(name),
        )
        self.nodes.append(node)
        if len(results) == 1:
            self.sources[results[0]] = name, inputs, attributes
        return [
            self.cast(ref, output[1]) if output is not None and ref.dtype != output[1] else ref
            for ref, output in zip(results, outputs, strict=True)
        ]

    def missing(
        self, kind: tuple[Shape, np.dtype], reason: str, operands: Sequence[Ref] = ()
    ) -> Ref:
        """A value that cannot be given; it is an error only if something needs it.

        A node stands for it, so that what is missing before it is found too.
        """
        output = self._output(kind)
        self.unavailable[output.value] = reason
        inputs = [operand.value for operand in operands]
        node = ir.node(self.primitive, inputs, domain=UNSUPPORTED_DOMAIN, outputs=[output.value])
        self.nodes.append(node)
        return output

    def subgraph(
        self,
        name: str,
        inputs: Sequence[tuple[Shape, np.dtype]],
        function: Callable[[list[Ref]], Sequence[Ref]],
    ) -> ir.Graph:
        """The graph of a function, for an attribute of a node.

        Args:
            name: its name.
            inputs: the types of its inputs.
            function: from its inputs to its outputs; it may use values from around it.
        """
        with self._scope() as nodes:
            refs = [self._output(kind) for kind in inputs]
            for ref in refs:
                plain = [dim if isinstance(dim, int) else None for dim in ref.shape]
                ref.value.shape = ir.Shape(plain)
            # Outputs are values that the graph makes itself, each another one.
            outputs = [self.op("Identity", result) for result in function(refs)]
        return ir.Graph(
            [ref.value for ref in refs],
            [output.value for output in outputs],
            nodes=nodes,
            name=self._name(name),
        )

    @contextlib.contextmanager
    def _scope(self) -> Iterator[list[ir.Node]]:
        """Collect the nodes of a subgraph in a list of their own."""
        outer, around = self.nodes, {name: getattr(self, name) for name in _SCOPED}
        self.nodes = []
        for name, tables in around.items():
            setattr(self, name, tables.copy())
        try:
            yield self.nodes
        finally:
            self.nodes = outer
            for name, tables in around.items():
                setattr(self, name, tables)

    def _promoted(
        self, name: str, inputs: list[Ref | None]
    ) -> tuple[list[Ref | None], dict[int, np.dtype]]:
        """The inputs in types that the operator takes, and the types of outputs that follow."""
        type_names, results = type_parameters(name, self.opset)
        changed: dict[str, np.dtype] = {}
        for place, operand in enumerate(inputs):
            if operand is None:
                continue
            dtype = compute_type(name, self.opset, place, operand.dtype)
            if dtype != operand.dtype:
                changed[type_names[min(place, len(type_names) - 1)]] = dtype
        if not changed:
            return inputs, {}
        cast = [
            self.cast(operand, changed[parameter])
            if operand is not None
            and (parameter := type_names[min(place, len(type_names) - 1)]) in changed
            else operand
            for place, operand in enumerate(inputs)
        ]
        return cast, {
            p: changed[parameter_of_result]
            for p, parameter_of_result in enumerate(results)
            if parameter_of_result in changed
        }

    def _output(self, kind: tuple[Shape, np.dtype] | None) -> Ref:
        if kind is None:
            return Ref(ir.Value(name=""), INT64, ())
        shape, dtype = kind
        value = ir.Value(name=self._name(self.primitive), type=ir.TensorType(onnx_type(dtype)))
        return self.known(Ref(value, dtype, shape))

    def _name(self, kind: str) -> str:
        stem = f"{self.scope}/{kind}" if self.scope else kind
        return f"{stem}_{next(self._counts[stem])}"

    def known(self, ref: Ref) -> Ref:
        """Return a value, having noted which symbolic sizes can be read off it."""
        for axis, dim in enumerate(ref.shape):
            if isinstance(dim, CapturedSize) and dim not in self._origins:
                self._origins[dim] = (ref, axis)
        return ref

    def cast(self, x: Ref, dtype: Any) -> Ref:
        """`x` in another type."""
        dtype = np.dtype(dtype)
        if x.dtype == dtype:
            return x
        if x.constant is not None:
            return self.constant(x.constant.astype(dtype))
        return self.op("Cast", x, dtype=dtype, to=int(onnx_type(dtype)))

    # --- constants

    def constant(self, value: Any, dtype: Any = None) -> Ref:
        """A constant: a number, a list or an array; equal ones are written once."""
        array = np.asarray(value) if dtype is None else np.asarray(value).astype(dtype)
        key = (array.dtype, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = self._new_constant(array)
        return self._constants[key]

    def integers(self, *values: int) -> Ref:
        """A vector of int64 numbers."""
        return self.constant(np.array(values, INT64))

    def _new_constant(self, array: np.ndarray) -> Ref:
        name = f"constant_{next(self._counts['constant'])}"
        kind = ir.TensorType(onnx_type(array.dtype))
        value = ir.Value(name=name, type=kind, shape=ir.Shape(array.shape))
        tensor = ir.Tensor(array, onnx_type(array.dtype), name=name)
        if array.nbytes > _SMALL:
            value.const_value = tensor
            self.initializers.append(value)
        else:
            self.nodes.append(ir.node("Constant", [], {"value": tensor}, outputs=[value]))
        return Ref(value, array.dtype, array.shape, array)

    # --- sizes

    def sizes(self, dims: Sequence[Dim]) -> Ref:
        """A vector of int64 with these sizes, computed from shapes where they are symbols."""
        plain = static(dims)
        if plain is not None:
            return self.integers(*plain)
        parts = [
            self.size(dim) if isinstance(dim, CapturedSize) else self.integers(dim) for dim in dims
        ]
        if len(parts) == 1:
            return parts[0]
        return self.op("Concat", *parts, shape=(len(parts),), axis=0)

    def size(self, dim: CapturedSize) -> Ref:
        """A symbolic size as a vector of one int64.

        Raises:
            DynamicSizeError: it is no dimension of any value so far, nor a product, quotient,
                sum, difference or extremum of these.
        """
        if dim not in self._sizes:
            self._sizes[dim] = self._read(dim) if dim in self._origins else self._computed(dim)
        return self._sizes[dim]

    def _read(self, dim: CapturedSize) -> Ref:
        """The size as a dimension of a value."""
        ref, axis = self._origins[dim]
        shape = self.op("Shape", ref, shape=(ref.rank,), dtype=INT64)
        return self.op("Gather", shape, self.integers(axis), shape=(1,), axis=0)

    def _computed(self, dim: CapturedSize) -> Ref:
        """The size computed from known ones."""
        for origin in list(self._origins):
            ref = self._affine(dim, origin)
            if ref is not None:
                return ref
        for one, other in itertools.combinations_with_replacement(list(self._origins), 2):
            for name, function in _ARITHMETIC.items():
                joint = combine(one, other, function)
                if joint == dim:
                    return self.op(name, self.size(one), self.size(other))
                ref = self._affine(dim, joint) if isinstance(joint, CapturedSize) else None
                if ref is not None:
                    return ref
        raise DynamicSizeError(
            f"a size that is {' or '.join(map(str, dim.values))} in the captures is no simple "
            "function of the sizes of tensors"
        )

    def _affine(self, dim: CapturedSize, source: CapturedSize) -> Ref | None:
        """`dim` as ``known * a // b + c``, rounded down or up; None if it is not."""
        line = _line(source.values, dim.values)
        if line is None:
            return None
        a, up, b, c = line
        result = self.size(source) if source in self._origins else self._computed(source)
        for name, number, identity in (("Mul", a, 1), ("Add", up, 0), ("Div", b, 1), ("Add", c, 0)):
            if number != identity:
                result = self.op(name, result, self.integers(number))
        return result

    def number(self, dim: Dim, dtype: Any = INT64) -> Ref:
        """A size as a number without dimensions."""
        if not isinstance(dim, CapturedSize):
            return self.constant(dim, dtype)
        vector = self.size(dim)
        scalar = self.op("Reshape", vector, self.constant(np.zeros(0, INT64)), shape=())
        return self.cast(scalar, dtype)


def _line(xs: Sequence[int], ys: Sequence[int]) -> tuple[int, int, int, int] | None:
    """Numbers with ``y == (x * a + up) // b + c`` for all pairs, `up` 0 or ``b - 1``."""
    pairs = list(zip(xs, ys, strict=True))
    x, y = pairs[0]
    for to_x, to_y in pairs[1:]:
        denominator, numerator = to_x - x, to_y - y
        divisor = math.gcd(denominator, numerator) * (-1 if denominator < 0 else 1)
        if not denominator or not numerator:
            continue
        a, b = numerator // divisor, denominator // divisor
        if a < 0 and b > 1:
            continue  # ONNX divides negative numbers towards 0.
        for up in (0, b - 1):
            c = y - (x * a + up) // b
            if all((source * a + up) // b + c == value for source, value in pairs):
                return a, up, b, c
    return None


_ARITHMETIC: dict[str, Any] = {
    "Mul": lambda one, other: one * other,
    "Add": lambda one, other: one + other,
    "Sub": lambda one, other: one - other,
    "Div": lambda one, other: one // other if other else 0,
    "Min": min,
    "Max": max,
}
