"""``torch.fx.experimental.symbolic_shapes``: sizes are numbers here, so that all is known."""

from __future__ import annotations

from typing import Any


def guard_or_false(a: Any) -> bool:
    """Return whether a condition holds, which is known."""
    return bool(a)


guard_or_true = guard_bool = guard_size_oblivious = statically_known_true = guard_or_false


def statically_known_false(x: Any) -> bool:
    """Return whether a condition does not hold, which is known."""
    return not x


def guard_int(a: Any) -> int:
    """Return a number."""
    return int(a)


def guard_float(a: Any) -> float:
    """Return a number."""
    return float(a)


def is_concrete_int(a: Any) -> bool:
    """Return True: all numbers are known."""
    return True


is_concrete_bool = is_concrete_float = is_concrete_int


def is_symbolic(val: Any) -> bool:
    """Return False: no number stands for others."""
    return False


has_free_symbols = has_free_unbacked_symbols = is_symbolic


def free_symbols(val: Any) -> set[Any]:
    """Return the empty set: nothing stands for other numbers."""
    return set()


free_unbacked_symbols = free_symbols


def sym_eq(x: Any, y: Any) -> bool:
    """Return whether numbers, or tuples and lists of them, are equal."""
    if isinstance(x, tuple | list) and isinstance(y, tuple | list):
        return len(x) == len(y) and all(map(sym_eq, x, y))
    return x == y


def sym_and(x: Any, *others: Any) -> Any:
    """Return whether all conditions hold."""
    return all((x, *others))


def sym_or(x: Any, *others: Any) -> Any:
    """Return whether one of the conditions holds."""
    return any((x, *others))


__all__ = [
    "free_symbols",
    "free_unbacked_symbols",
    "guard_bool",
    "guard_float",
    "guard_int",
    "guard_or_false",
    "guard_or_true",
    "guard_size_oblivious",
    "has_free_symbols",
    "has_free_unbacked_symbols",
    "is_concrete_bool",
    "is_concrete_float",
    "is_concrete_int",
    "is_symbolic",
    "statically_known_false",
    "statically_known_true",
    "sym_and",
    "sym_eq",
    "sym_or",
]
