"""The traits of a primitive: declarations that generic code reads instead of operators' names.

Each trait is a small record. It is declared where the primitive is defined, checked when the
primitive is registered, and read as a field by dispatch, passes and the compiler.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

# No postponed annotations: the declared types of the fields are checked at registration.


class Kind(Enum):
    """The part that a primitive plays in a program.

    Attributes:
        COMPUTATION: an operator like most; nothing more is known of it.
        CONVOLUTION: a convolution or one of its gradients: few instructions that take most of the
            time.
        BOXING: converts a global tensor from the SBP `source` to the SBP `target`.
        TRANSFER: moves a global tensor to another placement; `target` is the spec of the result.
        ORDERING: returns its operands, each with the SBP that it has, when all of them are
            computed.
        BARRIER: returns its operands, and keeps the compiler from sharing what follows with the
            same computation elsewhere.
    """

    COMPUTATION = "computation"
    CONVOLUTION = "convolution"
    BOXING = "boxing"
    TRANSFER = "transfer"
    ORDERING = "ordering"
    BARRIER = "barrier"

    @property
    def has_fixed_sbp(self) -> bool:
        """Return whether the call fixes the SBP of its operands and results."""
        return self in (Kind.BOXING, Kind.TRANSFER, Kind.ORDERING)

    @property
    def has_opaque_numbers(self) -> bool:
        """Return whether its Python numbers must never become constants of the executable."""
        return self is Kind.BARRIER


class Precision(Enum):
    """The precision that automatic mixed precision runs a primitive in.

    Attributes:
        AS_GIVEN: the precision of its operands.
        HALF: half precision: it takes most of the time, and half precision is enough for it.
        FULL: float32: it loses too many digits, or overflows, in half precision.
        FULL_OFF_CPU: as FULL; but on CPUs PyTorch runs it in the precision of its operands.
    """

    AS_GIVEN = "as given"
    HALF = "half"
    FULL = "full"
    FULL_OFF_CPU = "full, except on PyTorch's CPUs"


@dataclass(frozen=True, slots=True)
class Fusion:
    """The way XLA:CPU fuses a primitive with its neighbours.

    Attributes:
        into_users: it is fused into what reads its result, as elementwise primitives are.
        reads_memory: it reads its operands from memory, more than once or in any order.
    """

    into_users: bool = False
    reads_memory: bool = False


@dataclass(frozen=True, slots=True)
class Positional:
    """The values of a primitive depend on the position, see `oneflow.primitives.shard_index`.

    Attributes:
        operand: the name of the operand that the positions refer to; None: the first result.
        by_element: each element of the result depends on its own position and on that element of
            the operands, and on nothing else; unless a mask is to be of another shape.
    """

    operand: str | None = None
    by_element: bool = False


@dataclass(frozen=True, slots=True)
class Decomposition:
    """Another way to compute a primitive, see `oneflow.primitives.sharding.decomposition`.

    Attributes:
        function: computes the same of the same operands and attributes, with primitives that can be
            computed in parts.
        condition: ``attributes -> bool``, the cases that it covers; None: all.
    """

    function: Callable
    condition: Callable | None = None

    def matches(self, attributes: Any) -> bool:
        """Return whether `function` computes the primitive with these attributes."""
        return self.condition is None or self.condition(attributes)


@dataclass(frozen=True, slots=True)
class ViewRule:
    """A primitive whose result shares its operand's memory in PyTorch.

    Attributes:
        write: ``write(base, new, *numbers, **attributes)`` is `base` after `new` was written into
            the view.
        layout: ``layout(base_layout, *numbers, **attributes)`` is the `StridedLayout` of the view.
        has_overlap: several elements of the view may be one element of the base.
        box: ``box(*numbers, **attributes)`` gives ``(start, size, step)`` for each dimension of
            which the view takes some elements; size None: one, and the view lacks the dimension.
            None for a view that is more than such a selection.
    """

    write: Callable
    layout: Callable
    has_overlap: bool = False
    box: Callable | None = None


@dataclass(frozen=True, slots=True)
class UpdateRule:
    """A primitive that computes new values of parameters and of optimizer states.

    Attributes:
        replaced: ``operation -> (operand, result) pairs``: the positions of each old value and of
            the new one.
        gradients: ``operation -> (parameter, gradient) pairs`` of operand positions; None for an
            update of some rows of a table.
        of_rows: the primitive that does the same to some rows of a table; None: there is none.
        parts: ``(number of operands, attributes) -> operand positions`` of each call that gives
            the next of its results; None: it is one call.
    """

    replaced: Callable
    gradients: Callable | None = None
    of_rows: Any = None
    parts: Callable | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """Everything that generic code knows of a primitive besides its signature and gradients.

    Attributes:
        kind: the part that it plays in a program.
        precision: the precision that automatic mixed precision runs it in.
        real_only: it means nothing for complex numbers, which it refuses.
        fusion: the way XLA:CPU fuses it with its neighbours.
        channels_last: ``operation -> ChannelsLast or None``, see
            `oneflow.primitives.operators.channels_last`.
        positional: how its values depend on the position, if they do.
        decomposition: what is computed instead where dimensions that it needs whole are split.
        view: how its result shares its operand's memory, if it does.
        update: how it updates parameters, if it does.
        interpret: NumPy may compute it in a cold program; False for what must have the same bits
            in a hot one and takes functions that NumPy rounds otherwise than XLA.
    """

    kind: Kind = Kind.COMPUTATION
    precision: Precision = Precision.AS_GIVEN
    real_only: bool = False
    fusion: Fusion = Fusion()
    channels_last: Callable | None = None
    positional: Positional | None = None
    decomposition: Decomposition | None = None
    view: ViewRule | None = None
    update: UpdateRule | None = None
    interpret: bool = True

    def check(self, name: str, operands: tuple[str, ...], attributes: dict[str, Any]) -> None:
        """Check the declarations of the primitive `name` against its signature.

        Raises:
            TypeError: a trait is not of its declared type.
            ValueError: the signature lacks an operand or attribute that a trait needs.
        """
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, field.type):  # pyright: ignore[reportArgumentType]
                raise TypeError(
                    f"trait `{field.name}` of primitive `{name}` must be of type {field.type}, got "
                    f"{value!r}"
                )
        for attribute in self._needed_attributes():
            if attribute not in attributes:
                raise ValueError(
                    f"primitive `{name}` needs an attribute `{attribute}` for what it declares; it "
                    f"has {sorted(attributes)}"
                )
        operand = self.positional.operand if self.positional else None
        if operand is not None and operand not in operands:
            raise ValueError(
                f"primitive `{name}` has no operand `{operand}` for positions to refer to; it has "
                f"{sorted(operands)}"
            )
        if self.view is not None and not operands:
            raise ValueError(f"primitive `{name}` is a view of nothing: it has no operands")

    def _needed_attributes(self) -> tuple[str, ...]:
        """The attributes that the traits take for granted."""
        shard = ("shard",) if self.positional else ()
        if self.kind is Kind.BOXING:
            return (*shard, "source", "target")
        return (*shard, "target") if self.kind is Kind.TRANSFER else shard


# The traits of most primitives.
NO_TRAITS = Traits()
