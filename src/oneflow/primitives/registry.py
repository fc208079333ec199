"""`Primitive`, the definition of one operator, and the table of all of them.

A primitive is a pure function on arrays plus declarations: its gradient, how its dimensions may be
split over devices, how it is lowered per platform, and its traits. Everything else users call is
composed from primitives.

A primitive's implementation tells its own signature: positional parameters are *operands* (tensors,
or Python numbers that become run-time inputs of the compiled program), keyword-only parameters are
*attributes* (hashable constants of the program). Shape and dtype inference is abstract evaluation
of the implementation.

    mul = primitive("mul", lambda x, y: lax.mul(x, y))
    mul.gradient(x=lambda g, y: mul(g, y), y=lambda g, x: mul(g, x))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from oneflow.base.hook import Hook
from oneflow.base.parameters import parameters_of
from oneflow.primitives.traits import NO_TRAITS, Traits, ViewRule

PRIMITIVES: dict[str, Primitive] = {}
COMPUTED = "computed"  # see `Primitive`, `scalar`
_ACCELERATORS = ("cuda", "tpu")


# The meaning of calling a primitive: ``bind(primitive, operands, attributes)``.
BIND: Hook[Callable[[Primitive, tuple, dict], Any]] = Hook("BIND", "oneflow.dispatch.call")


class Primitive:
    """One operator's single definition. Make it with `primitive`; calling it records it.

    Attributes:
        name: unique name, as printed in programs.
        impl: pure function of JAX arrays.
        operands: names of the positional parameters; the last may be ``*name`` for any number of
            them.
        attributes: names of the keyword-only parameters with their defaults.
        gradients: rule per operand name, see `gradient`; or one joint rule under ``"*"``.
        writable: what rules keep and yet may be overwritten after the call, see `gradient`.
        materialize_grads: gradient rules get zeros, not None, for an output that nothing depends
            on. A derived gradient leaves such outputs out.
        zero_second_gradients: gradients that do not depend on the operand still have a gradient
            there, zeros, see `gradient`.
        differentiable: False for comparisons, random numbers, indices: results never require grad.
        scalar: dtype name that Python-number operands take, or such a name per operand name; where
            nothing is said they take that of the tensor operands. `COMPUTED` is the dtype that
            the result is computed in before it is rounded: float32 for half precision.
        check: optional ``(operands, attributes) -> (is_bad, value)`` on arrays, see `checked`.
        axes: how dimensions may be split over devices, see `oneflow.primitives.sharding.axes`.
        linear: sets of operands in which the implementation is linear, see
            `oneflow.primitives.sharding.linearity`.
        lowerings: implementation per platform name where the general one is slow.
        traced_lowerings: what is traced in place of a platform's lowering.
        differentiated_lowerings: platforms whose lowering is what a derived gradient is of.
        refusals: per platform name, what cannot be computed there, see `unsupported_on`.
        elementwise: every element of the result depends on one element of each operand, broadcast.
        vjp_of: the primitive whose derived gradient this is, if it is one.
        traits: what else generic code needs to know, see `Traits`.
    """

    __slots__ = (
        "_vjp",
        "attributes",
        "axes",
        "check",
        "check_error",
        "differentiable",
        "differentiated_lowerings",
        "elementwise",
        "gradients",
        "impl",
        "linear",
        "lowerings",
        "materialize_grads",
        "name",
        "operands",
        "refusals",
        "scalar",
        "traced_lowerings",
        "traits",
        "variadic",
        "vjp_of",
        "writable",
        "zero_second_gradients",
    )

    def __init__(
        self,
        name: str,
        impl: Callable,
        *,
        operands: str | None = None,
        differentiable: bool = True,
        scalar: str | Mapping[str, str] | None = None,
        axes: Any = None,
        linear: tuple[str, ...] | Callable = (),
        elementwise: bool = False,
        vjp_of: Primitive | None = None,
        **traits: Any,
    ) -> None:
        self.name = name
        self.impl = impl
        self.operands, self.variadic, self.attributes = _signature(impl, operands)
        self.gradients: dict[str, Rule] = {}
        self.writable: str | Callable[[Any], str] = ""
        self.materialize_grads = False
        self.zero_second_gradients: bool | Callable[[Any], bool] = False
        self.differentiable = differentiable
        self.scalar = scalar
        self.check: Any = None  # functions, or None without a run-time check
        self.check_error: Any = None
        self.axes = axes
        self.linear = linear
        self.elementwise = elementwise
        self.traits = NO_TRAITS
        if traits:
            self.traits = Traits(**traits)
            self.traits.check(name, self.operands, self.attributes)
        self.vjp_of = vjp_of
        self.lowerings: dict[str, Callable] = {}
        self.traced_lowerings: dict[str, Callable] = {}
        self.differentiated_lowerings: set[str] = set()
        self.refusals: dict[str, Callable[[tuple], str | None]] = {}
        self._vjp: Primitive | None = None

    def __call__(self, *operands: Any, **attributes: Any) -> Any:
        """Apply to values and numbers: record, or run on arrays inside another primitive."""
        return BIND.value(self, operands, attributes)

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"

    def gradient(
        self,
        joint: Callable | None = None,
        *,
        writable: str | Callable[[Any], str] = "",
        materialize_grads: bool = True,
        zero_second_gradients: bool | Callable[[Any], bool] = False,
        **rules: Callable | None,
    ) -> Primitive:
        """Declare gradient rules, written with primitives so that they can be differentiated again.

        A rule's parameter names say what it gets, and so what is kept for the backward pass: ``g``
        (gradient of the output; a tuple if there are several), an operand's name (its value),
        ``out`` (the output's value), ``<operand>_spec`` / ``out_spec`` (shape and dtype, nothing
        kept), an attribute's name. Give one rule per operand (None: no gradient flows there), or
        one joint rule that also may take ``needs_input_grad`` (a bool per operand) and returns one
        gradient (or None) per operand. Broadcast operands are summed to shape by the caller.

        A backward pass refuses what was written to in place since the rule kept it, as in PyTorch.
        `writable` names what is not refused, as PyTorch keeps something else there: operands, or
        ``out``; or it is a function of the operation. What is kept stays as it was in any case.

        A rule of several outputs gets zeros for the gradient of one that nothing depends on, or
        None if `materialize_grads` is False. A gradient that does not depend on the operand has no
        gradient there; with `zero_second_gradients` (or where that function of the operation says
        so) it has one, zeros, as that of PyTorch's pooling.
        """
        if self.gradients:
            raise ValueError(f"primitive `{self.name}` already has a gradient")
        operand_names = {name.lstrip("*") for name in self.operands}
        for name in rules:
            if name not in operand_names:
                raise ValueError(
                    f"primitive `{self.name}` has no operand `{name}`; "
                    f"it has {sorted(operand_names)}"
                )
        if joint is not None:
            self.gradients["*"] = Rule(joint)
        for name, rule in rules.items():
            self.gradients[name] = Rule(rule) if rule is not None else NO_GRADIENT
        self.writable = writable
        self.materialize_grads = materialize_grads
        self.zero_second_gradients = zero_second_gradients
        return self

    def lowering(
        self, *platforms: str, differentiate: bool = False, traced: Callable | None = None
    ) -> Callable[[Callable], Callable]:
        """Decorator: the implementation for platforms, as ``"cpu"``, ``"cuda"``, ``"meta"``.

        With `differentiate` a gradient that is derived, as there is no rule, is derived from it;
        else it is that of the general implementation. `traced` is what tells shapes and costs, and
        what NumPy computes, where the implementation takes many steps for XLA's sake.
        """

        def register(impl: Callable) -> Callable:
            for platform in platforms:
                if platform in self.lowerings:
                    raise ValueError(
                        f"primitive `{self.name}` already has a lowering for `{platform}`"
                    )
                self.lowerings[platform] = impl
                if traced is not None:
                    self.traced_lowerings[platform] = traced
                if differentiate:
                    self.differentiated_lowerings.add(platform)
            return impl

        return register

    def unsupported_on(self, platform: str, reason: Callable[[tuple], str | None]) -> Primitive:
        """Declare what XLA cannot compute on a platform, so that the call raises an error.

        Args:
            platform: such as ``"tpu"``.
            reason: of the specs of operands: why not, and what to do; None: it can be computed.
        """
        self.refusals[platform] = reason
        return self

    def raise_unsupported(self, platform: str, in_specs: tuple) -> None:
        """Raise an error if it cannot be computed on a platform.

        Raises:
            NotImplementedError: it cannot.
        """
        reason = self.refusals.get(platform)
        text = reason(in_specs) if reason is not None else None
        if text is not None:
            raise NotImplementedError(f"`{self.name}` cannot be computed on `{platform}`: {text}")

    def checked(
        self, check: Callable, error: Callable[[int, Mapping, tuple], Exception]
    ) -> Primitive:
        """Declare a run-time check of values, such as an index in range.

        ``check(*operands, **attributes)`` returns ``(is_bad, value)`` as 0-dim bool and int64
        arrays; ``error(value, attributes, in_specs)`` makes the exception that the user sees.
        """
        self.check, self.check_error = check, error
        return self

    @property
    def view_rule(self) -> ViewRule:
        """The rule by which the result of a view primitive shares its operand's memory.

        Raises:
            TypeError: it is no view.
        """
        if self.traits.view is None:
            raise TypeError(f"primitive `{self.name}` is no view: it declares no `ViewRule`")
        return self.traits.view

    def implementation(self, platform: str) -> Callable:
        """The implementation for `platform`."""
        return self.lowerings.get(platform, self.impl)

    def traced_implementation(self, platform: str) -> Callable:
        """The implementation that tells shapes and costs: an accelerator's may call kernels."""
        if platform in _ACCELERATORS:
            return self.impl
        return self.traced_lowerings.get(platform, self.implementation(platform))


class Rule:
    """A gradient rule and the names of the values that it needs, read from its parameters."""

    __slots__ = ("function", "needs")

    def __init__(self, function: Callable) -> None:
        self.function = function
        self.needs = parameters_of(function).positional


NO_GRADIENT = Rule(lambda: None)


def primitive(name: str, impl: Callable, **options: Any) -> Primitive:
    """Define a primitive and enter it in the table.

    Raises:
        ValueError: a primitive of that name exists.

    Example:
        >>> import jax.numpy as jnp
        >>> import oneflow as flow
        >>> from oneflow.primitives.registry import primitive
        >>> from oneflow.tensor import call
        >>> cube = primitive("doc_cube", lambda x: x * x * x)
        >>> x = flow.tensor([2.0], requires_grad=True)
        >>> call(cube, x).sum().backward()
        >>> x.grad
        tensor([12.], dtype=oneflow.float32)
    """
    if name in PRIMITIVES:
        raise ValueError(f"primitive `{name}` is already registered; names are unique")
    registered = Primitive(name, impl, **options)
    PRIMITIVES[name] = registered
    return registered


def _signature(
    impl: Callable, operands: str | None
) -> tuple[tuple[str, ...], bool, dict[str, Any]]:
    """Operand names, whether the last takes any number, and attribute defaults."""
    if operands is not None:
        names = tuple(operands.split())
        return names, bool(names) and names[-1].startswith("*"), {}
    parameters = parameters_of(impl)
    variadic = parameters.variadic is not None
    names = (
        (*parameters.positional, f"*{parameters.variadic}") if variadic else parameters.positional
    )
    return names, variadic, parameters.keyword_only
