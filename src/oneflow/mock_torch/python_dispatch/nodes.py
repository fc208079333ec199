"""The backward pass of operators that modes or classes compute: by operators, which are asked, too.

An operator with rows in `derivatives` has PyTorch's operators there; any other has one operator
beside it, ``aten::X_backward``, of the gradients of its results and its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneflow.base.spec import TensorSpec
from oneflow.differentiation.grad_mode import MODE
from oneflow.differentiation.node import SECOND_BACKWARD, Node, modified_error
from oneflow.differentiation.saved import packed, unpacked
from oneflow.mock_torch.pytorch.aten_schemas import schema_of
from oneflow.program.value import Value
from oneflow.tensor.call import wrap
from oneflow.tensor.python_dispatch import DISPATCH, WrapperValue
from oneflow.tensor.tensor import Tensor, value_of
from oneflow.tensor.views import unwrap, with_history_of

#: The gradients of operators' arguments: by operator, of what was saved and the results' gradients.
DERIVATIVES: dict[str, dict[str, Callable[[SavedCall, Any], Any]]] = {}
#: Operators whose results are drawn at random, so that their arguments do not determine them.
_RANDOM = {"bernoulli", "rrelu", "multinomial", "poisson"}


#: Operators with rows whose backward pass does not need what they write to; products and
#: quotients need it for the gradient of the other operand alone.
_WITHOUT_SELF = frozenset(
    [
        "add",
        "sub",
        "neg",
        "exp",
        "sqrt",
        "rsqrt",
        "reciprocal",
        "tanh",
        "sigmoid",
        "relu",
        "masked_fill",
        "floor",
        "ceil",
        "round",
        "trunc",
        "sign",
        "zero",
        "fill",
        "copy",
        "lerp",
        "addcmul",
        "tril",
        "triu",
    ]
)


def needs_self(overload: Any, args: tuple[Any, ...]) -> bool:
    """Return whether the backward pass of an operator needs its first argument."""
    base = overload.base_name
    if base in ("mul", "div") and len(args) > 1:
        return isinstance(args[1], Tensor) and args[1].requires_grad
    return base not in _WITHOUT_SELF


class _SavedTensor:
    """An operand, or a result, of an operator as its node keeps it.

    Attributes:
        spec: its shape, dtype and device.
        strides: its strides.
        offset: its place in its memory.
        edge: its node and which output of that it is; None where no gradient flows.
    """

    def __init__(self, tensor: Tensor, edge: Any = None) -> None:
        value = unwrap(tensor)
        self.spec, self.strides = value.spec, tensor.stride()
        self.offset = tensor.storage_offset()
        own = None if value.node is None else (value.node, value.output_index)
        self.edge = own if edge is None else edge
        alias = value.alias()
        if edge is None:
            with_history_of(alias, value)
        elif type(alias) is WrapperValue:
            # The result itself would hold the node that keeps it.
            alias = alias.alias_of_copy()
        self._kept, self._watched = packed(alias), value

    def keep(self, copy: Tensor) -> None:
        """Keep a copy in place of the tensor, which is about to be written to."""
        value = unwrap(copy)
        alias = value.alias()
        if self.edge is not None:
            alias.node, alias.output_index = self.edge
        self._kept, self._watched = packed(alias), value

    def accept_writes(self) -> None:
        """Take what was written until now for the operator's own, as to running statistics.

        What is kept is the value from before, but of wrappers, which hold one content.
        """
        if self._watched.stale is True and not isinstance(self._watched, WrapperValue):
            self._watched = self._watched.alias()

    def tensor(self, grads: Sequence[Any], node: Any, name: str) -> Tensor:
        """Return the tensor again; of a result of `node` with its history.

        Raises:
            RuntimeError: it was written to since.
        """
        if self._watched.stale is True:
            raise modified_error(self.spec, name)
        value = unpacked(self._kept, grads)
        if node is not None and MODE.enabled:
            value = value.alias()
            value.node, value.output_index = node
        return wrap(value)


class SavedCall:
    """A call of an operator, kept for its backward pass.

    Attributes:
        overload: the operator.
        tensors: the tensors among its arguments.
        grads: the gradients of its results, while its node runs.
        node: the node.
    """

    def __init__(
        self,
        overload: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        copy_of_self: Tensor | None = None,
    ) -> None:
        self.overload = overload
        self.tensors: list[_SavedTensor] = []
        self._args, self._kwargs = self._saved(args), self._saved(kwargs)
        if copy_of_self is not None:
            self.tensors[0].keep(copy_of_self)
        self._result: Any = None
        self.grads: Sequence[Any] = ()
        self.node: Any = None
        schema = schema_of(overload.overloadpacket.__name__, overload._overloadname)
        fits = schema is not None and schema.bind(args, kwargs) is not None
        self._schema = schema if fits else None

    def _saved(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            self.tensors.append(_SavedTensor(value))
            return self.tensors[-1]
        if isinstance(value, list | tuple):
            return [self._saved(item) for item in value]
        if isinstance(value, dict):
            return {name: self._saved(item) for name, item in value.items()}
        return value

    def keep_results(self, result: Any, node: Any) -> None:
        """Keep the results, whose node is there now."""
        self.node = node
        for saved in self.tensors:
            saved.accept_writes()
        results = [result] if isinstance(result, Tensor) else list(result)
        # A node that held its own outputs would be a cycle.
        self._result = [
            _SavedTensor(x, (None, index)) if isinstance(x, Tensor) else x
            for index, x in enumerate(results)
        ]

    def _unpack(self, value: Any) -> Any:
        if isinstance(value, _SavedTensor):
            return value.tensor(self.grads, None, str(self.overload))
        if isinstance(value, list):
            return [self._unpack(item) for item in value]
        if isinstance(value, dict):
            return {name: self._unpack(item) for name, item in value.items()}
        return value

    @property
    def args(self) -> list[Any]:
        """The arguments by position."""
        return self._unpack(self._args)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments by name."""
        return self._unpack(self._kwargs)

    def result(self, index: int = 0) -> Tensor:
        """Return a result of the operator."""
        saved = self._result[index]
        return saved.tensor(self.grads, (self.node, index), str(self.overload))

    @property
    def is_unknown(self) -> bool:
        """True if the arguments are not those of the operator's row, such as ``add(1, x)``."""
        return self._schema is None

    def _raw(self, name: str) -> Any:
        if self._schema is None:
            raise AttributeError(name)
        for place, argument in enumerate(self._schema.arguments):
            if argument.name == name:
                if not argument.kwarg_only and place < len(self._args):
                    return self._args[place]
                return self._kwargs.get(name, argument.default_value)
        raise AttributeError(name)

    def __getattr__(self, name: str) -> Any:
        """Return the argument of a parameter."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self._unpack(self._raw(name))

    def saved(self, name: str) -> _SavedTensor:
        """Return what is known of an argument; its values may be gone."""
        return self._raw(name)

    def spec(self, name: str) -> TensorSpec:
        """Return shape, dtype and device of an argument; its values may be gone."""
        return self._raw(name).spec

    def is_column_major(self, name: str) -> bool:
        """Return whether a matrix lies in memory column by column."""
        saved = self._raw(name)
        return tuple(saved.strides) == (1, saved.spec.shape[0])

    def tensors_of(self, name: str) -> list[_SavedTensor]:
        """Return the tensors that the argument of a parameter is, or has as a list."""
        raw = self._raw(name)
        members = raw if isinstance(raw, list) else [raw]
        return [member for member in members if isinstance(member, _SavedTensor)]

    def release(self) -> None:
        """Give up what was saved."""
        self._args, self._kwargs, self._result, self.tensors = [], {}, None, []


class OperatorNode(Node):
    """Backward of an operator that a mode or a class has computed."""

    __slots__ = ("_call", "_inputs", "_name", "materialize_grads")

    def __init__(self, call: SavedCall, out_specs: Sequence[TensorSpec]) -> None:
        self._inputs = [saved for saved in call.tensors if saved.edge is not None]
        super().__init__(tuple(saved.edge for saved in self._inputs), tuple(out_specs))
        self._call: SavedCall | None = call
        self._name = f"{_class_name(call.overload.base_name)}Backward0"
        self.materialize_grads = False

    def apply(self, grads: list[Any]) -> list[Any]:
        """Call the operators of the backward pass."""
        call = self._call
        if call is None:
            raise RuntimeError(SECOND_BACKWARD)
        before = DISPATCH.depth
        DISPATCH.depth = 0
        call.grads, call.node = grads, self
        try:
            tensors = [None if grad is None else wrap(grad) for grad in grads]
            results = _gradients(call, tensors)
            return [_fitting(results.get(id(saved)), saved.spec) for saved in self._inputs]
        finally:
            DISPATCH.depth = before
            call.grads, call.node = (), None

    def release(self) -> None:
        """Give up what was saved."""
        self._call = None

    def name(self) -> str:
        """The operator's name in PyTorch's style."""
        return self._name


def _class_name(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _gradients(call: SavedCall, grads: list[Tensor | None]) -> dict[int, Tensor | None]:
    """The gradients of an operator's arguments, by the identity of the saved tensors.

    Raises:
        NotImplementedError: the results are random, and no derivative is written.
    """
    base = call.overload.base_name
    table = DERIVATIVES.get(f"{base}.{call.overload._overloadname}") or DERIVATIVES.get(base)
    if table is None or call.is_unknown:
        return _of_backward_operator(call, grads)
    single = grads[0] if len(grads) == 1 else grads
    results: dict[int, Tensor | None] = {}
    for name, derivative in table.items():
        members = call.tensors_of(name)
        if not any(member.edge for member in members):
            continue
        grad = derivative(call, single)
        several = grad if isinstance(grad, list | tuple) else [grad]
        results |= {id(member): part for member, part in zip(members, several, strict=True)}
    return results


def _of_backward_operator(call: SavedCall, grads: list[Tensor | None]) -> dict[int, Tensor | None]:
    """Gradients by the operator beside one that has no rows of its own."""
    if call.overload.base_name in _RANDOM:
        raise NotImplementedError(
            f"the gradient of `{call.overload}`, whose results are random, of a tensor or in a mode"
            " with `__torch_dispatch__`: no derivative is written"
        )
    backward = call.overload.overloadpacket.backward_operator()
    floats = [saved for saved in call.tensors if _is_differentiable(saved.spec)]
    needed = [saved.edge is not None for saved in floats]
    overload = call.overload._overloadname
    results = backward(grads, needed, overload, *call.args, **call.kwargs)
    return {id(saved): grad for saved, grad in zip(floats, results, strict=True)}


def _is_differentiable(spec: TensorSpec) -> bool:
    return spec.dtype.is_floating_point or spec.dtype.is_complex


def _fitting(grad: Tensor | None, spec: TensorSpec) -> Value | None:
    """The value of a gradient with the shape and dtype of the tensor that it belongs to."""
    if grad is None:
        return None
    if grad.shape != spec.shape:
        grad = _summed_to(grad, spec.shape)
    if grad.dtype is not spec.dtype:
        grad = grad.to(spec.dtype)
    return value_of(grad)


def _summed_to(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    extra = grad.ndim - len(shape)
    expanded = [
        extra + dim for dim, size in enumerate(shape) if size == 1 != grad.shape[extra + dim]
    ]
    grad = grad.sum([*range(extra), *expanded], keepdim=True)
    return grad.view(shape) if extra else grad
