"""``torch.library``: operators that libraries define in Python, and call by ``torch.ops``."""

from __future__ import annotations

from typing import Any, NoReturn

from oneflow.base.dtype import DType
from oneflow.mock_torch.missing import raise_missing
from oneflow.mock_torch.pytorch._C.names import DispatchKey
from oneflow.mock_torch.pytorch.aten import OpOverload, aten_operator
from oneflow.mock_torch.pytorch.operator_checks import opcheck as opcheck
from oneflow.mock_torch.pytorch.operator_definition import (
    COMPOSITE,
    META,
    CustomOpDef as CustomOpDef,
    Kernel,
    device_type_of,
    function_of,
)
from oneflow.mock_torch.pytorch.operator_schema import (
    infer_schema as infer_schema,
    mutated_by_schema,
    signature_of_schema,
)

OPERATORS: dict[str, CustomOpDef] = {}


def _operator(name: str) -> CustomOpDef:
    if "::" not in name:
        raise ValueError(f"`name` must be 'namespace::name', got {name!r}")
    return OPERATORS.setdefault(name, CustomOpDef(name))


def _defined(name: str, schema: str | None) -> CustomOpDef:
    """A new operator, in place of another one of its name."""
    OPERATORS.pop(name, None)
    operator = _operator(name)
    if schema is not None:
        operator.signature = signature_of_schema(schema)
        operator.mutates = mutated_by_schema(schema)
    return operator


def define_composite(name: str, function: Kernel) -> None:
    """Define an operator by a function of others."""
    _operator(name).register_kernel(COMPOSITE, function)


def custom_op(
    name: str,
    fn: Kernel | None = None,
    /,
    *,
    mutates_args: Any = (),
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Define an operator by the function that computes it; without one, return a decorator.

    Args:
        name: ``"namespace::name"``; ``torch.ops.namespace.name`` is the operator then.
        fn: the function.
        mutates_args: names of arguments that it changes; it has no gradient if there are any.
        device_types: types of devices for which the function is; any by default.
        schema: its parameters in PyTorch's language; the function's signature by default.
        tags: change nothing.

    Raises:
        ValueError: the name has no namespace.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> @torch.library.custom_op("example::double", mutates_args=())
        ... def double(x: torch.Tensor) -> torch.Tensor:
        ...     return x * 2
        >>> torch.ops.example.double(torch.ones(1)).item()
        2.0
    """
    if fn is None:
        return lambda function: custom_op(
            name, function, mutates_args=mutates_args, device_types=device_types, schema=schema
        )
    operator = _defined(name, schema)
    operator.function = function_of(operator, None, None)
    operator.mutates = [mutates_args] if isinstance(mutates_args, str) else list(mutates_args)
    operator.register_kernel(device_types, fn)
    return operator


def triton_op(
    name: str, fn: Kernel | None = None, /, *, mutates_args: Any = (), schema: str | None = None
) -> Any:
    """Define an operator by a function that may call kernels of Triton: `custom_op`."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel: Any, /) -> NoReturn:
    """Refuse to call a kernel of Triton.

    Raises:
        NotImplementedError: always.
    """
    raise_missing(
        "torch.library.wrap_triton",
        "kernels of Triton take pointers to memory, which XLA keeps to itself; `jax.experimental."
        "pallas` has kernels for GPUs and TPUs",
    )


def define(qualname: Any, schema: str | None = None, *, lib: Any = None, **options: Any) -> Any:
    """Declare an operator by its parameters, such as ``"(Tensor x) -> Tensor"``; kernels follow.

    Args:
        qualname: ``"namespace::name"``; or a `Library`, and then the decorator of the function that
            computes the operator is returned.
        schema: of the operator; it begins with the name where a library has the namespace.
        lib: the library to which the operator belongs; it changes nothing.
        options: change nothing.
    """
    if not isinstance(qualname, Library):
        _defined(qualname, schema)
        return None
    name = qualname.define(schema or "")

    def register(function: Kernel) -> Kernel:
        qualname.impl(name, function)
        return function

    return register


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Any = None, **options: Any) -> Any:
    """Add a kernel to an operator; without one, return a decorator.

    Args:
        qualname: ``"namespace::name"``; or a `Library`, and then the others are the operator's name
            and the devices.
        types: of devices.
        func: the kernel.
        lib: the library to which the kernel belongs; it changes nothing.
        options: change nothing.
    """
    if not isinstance(qualname, Library):
        return _operator(qualname).register_kernel(types, func)

    def register(function: Kernel) -> Kernel:
        qualname.impl(types, function, func or options.get("dispatch_key", ""))
        return function

    return register


def register_fake(op: Any, func: Kernel | None = None, /, **options: Any) -> Any:
    """Register an operator's results for tensors without values; without `func`, a decorator.

    `CustomOpDef.register_fake` says more.
    """
    return (
        _operator_of(op).register_fake(func) if func is not None else _operator_of(op).register_fake
    )


impl_abstract = register_fake


def register_kernel(
    op: Any, device_types: Any, func: Kernel | None = None, /, **options: Any
) -> Any:
    """Add a kernel to an operator, given as such or by its name."""
    return _operator_of(op).register_kernel(device_types, func)


def register_vmap(op: Any, func: Kernel | None = None, /, **options: Any) -> Any:
    """Return `func`, or a decorator that does: `vmap` calls operators for each element."""
    return _operator_of(op).register_vmap(func)


def register_autocast(op: Any, device_type: str, cast_inputs: DType, /, **options: Any) -> None:
    """Convert floating-point arguments under autocast: `CustomOpDef.register_autocast`."""
    _operator_of(op).register_autocast(device_type, cast_inputs)


def register_autograd(
    op: Any, backward: Kernel, /, *, setup_context: Kernel | None = None, **options: Any
) -> None:
    """Give an operator (or the one of a name) a gradient: `CustomOpDef.register_autograd`."""
    _operator_of(op).register_autograd(backward, setup_context=setup_context)


def register_torch_dispatch(
    op: Any, torch_dispatch_class: type, func: Kernel | None = None, /, **options: Any
) -> Any:
    """Add what is called for a mode or a class: `CustomOpDef.register_torch_dispatch`.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> class Mode(torch.utils._python_dispatch.TorchDispatchMode):
        ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        ...         return func(*args, **(kwargs or {}))
        >>> @torch.library.custom_op("example::half", mutates_args=())
        ... def half(x: torch.Tensor) -> torch.Tensor:
        ...     return x / 2
        >>> @torch.library.register_torch_dispatch("example::half", Mode)
        ... def _(mode, func, types, args, kwargs):
        ...     return args[0] / 4
        >>> with Mode():
        ...     quarter = half(torch.ones(1))
        >>> quarter.item()
        0.25
    """
    return _operator_of(op).register_torch_dispatch(torch_dispatch_class, func)


def fallthrough_kernel(*args: Any, **kwargs: Any) -> NoReturn:
    """Mark a dispatch key as one without a kernel, for `Library.impl`; it is never called.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class _KernelFunction:
    """A kernel of an operator.

    Args:
        function: what computes it.
    """

    def __init__(self, function: Kernel) -> None:
        self._function = function

    def call_boxed(self, keyset: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call the kernel; the dispatch keys, of which none is looked at, come first."""
        return self._function(*args, **kwargs)

    __call__ = call_boxed


def get_kernel(op: Any, dispatch_key: Any) -> _KernelFunction:
    """Return the kernel of an operator for a dispatch key.

    Args:
        op: the operator, or its name, such as ``"aten::add.Tensor"``.
        dispatch_key: the key or its name; for operators of ATen the kernel is the same for all.

    Raises:
        ValueError: there is no such key, or `op` is no operator.
        RuntimeError: there is no such operator.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> kernel = torch.library.get_kernel("aten::add.Tensor", "CPU")
        >>> kernel.call_boxed(torch.DispatchKeySet(torch.DispatchKey.CPU), torch.ones(1), 2).item()
        3.0
    """
    if not isinstance(op, str | OpOverload | CustomOpDef):
        raise ValueError(f"get_kernel({op}): got unexpected type for op: {type(op)}")
    name = dispatch_key if isinstance(dispatch_key, str) else dispatch_key.name
    if name not in DispatchKey.__members__:
        raise ValueError(f"Invalid dispatch key: {dispatch_key}")
    if isinstance(op, str):
        namespace, _, rest = op.partition("::")
        packet, _, overload = rest.partition(".")
        operator = OPERATORS.get(op)
        if operator is None and namespace == "aten":
            op = getattr(_aten_operator(packet), overload or "default")
        elif operator is not None:
            op = operator
        else:
            raise RuntimeError(f"operator {op} does not exist")
    if isinstance(op, CustomOpDef):
        return _KernelFunction(op._kernel(device_type_of(name)))
    return _KernelFunction(op.kernel)


def _aten_operator(name: str) -> Any:
    try:
        return aten_operator(name)
    except AttributeError:
        raise RuntimeError(f"operator aten::{name} does not exist") from None


def _operator_of(op: Any) -> CustomOpDef:
    return op if isinstance(op, CustomOpDef) else _operator(op)


class _Sizes:
    """Sizes that depend on values, for functions of `register_fake`."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """Refuse: tensors without values have no such sizes.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(
            "The shape of a result depends on values, which tensors on the device 'meta' do not "
            "have; call the operator with tensors on another device"
        )

    new_unbacked_symint = create_unbacked_symint = new_dynamic_size


def get_ctx() -> _Sizes:
    """Return what a function of `register_fake` asks for sizes that depend on values."""
    return _Sizes()


class Library:
    """Operators of one namespace.

    Args:
        ns: the namespace.
        kind: ``"DEF"``, ``"IMPL"`` or ``"FRAGMENT"``, which make no difference.
        dispatch_key: the devices for which kernels are that say nothing else.

    Raises:
        ValueError: another kind, or the namespace of TorchScript's own operators.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("DEF", "IMPL", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind!r}, must be 'DEF', 'IMPL' or 'FRAGMENT'")
        if ns == "prim":
            raise ValueError("`ns`: the namespace 'prim' is reserved")
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key

    def define(self, schema: str, *args: Any, **options: Any) -> str:
        """Declare an operator by its schema, and return its name."""
        name = schema.partition("(")[0].strip()
        _defined(f"{self.ns}::{name}", schema)
        return name

    def impl(self, op_name: Any, fn: Kernel, dispatch_key: str = "", **options: Any) -> None:
        """Add a kernel; those that choose types (``"Autocast"``) are not needed.

        One for ``"Autograd"`` is called in place of the others, which it reaches in a context of
        ``torch._C._AutoDispatchBelowAutograd()``.

        Raises:
            TypeError: the kernel cannot be called.
            RuntimeError: it is for other devices than the library says.
        """
        if not callable(fn):
            raise TypeError(f"`fn` must be callable, got {type(fn).__name__}")
        if dispatch_key and self.dispatch_key and dispatch_key != self.dispatch_key:
            raise RuntimeError(
                f"`dispatch_key`: {dispatch_key} is inconsistent with the dispatch key of the "
                f"library, {self.dispatch_key}"
            )
        key = dispatch_key or self.dispatch_key or COMPOSITE
        name: Any = getattr(op_name, "name", op_name)
        name = name() if callable(name) else name
        operator = _operator(f"{self.ns}::{name.rpartition('::')[2]}")
        if fn is fallthrough_kernel:
            return
        if key == META:
            operator.register_fake(fn)
        elif not key.startswith("Autocast"):
            operator.register_kernel(key, fn)

    def _register_fake(self, op_name: str, fn: Kernel, **options: Any) -> Kernel:
        return _operator(f"{self.ns}::{op_name.rpartition('::')[2]}").register_fake(fn)
