"""``torch.utils.flop_counter``: the multiplications and additions of products, as they run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any, Self, TypeVar

from oneflow import nn
from oneflow.mock_torch.pytorch.aten import OpOverloadPacket
from oneflow.mock_torch.pytorch.operator_definition import COUNTING, CustomOpDef
from oneflow.mock_torch.pytorch.utils._pytree import tree_leaves, tree_map_only
from oneflow.module.global_hooks import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from oneflow.primitives.cost.operation_cost import product_flops
from oneflow.runtime.eager import flush_all
from oneflow.runtime.eager_settings import SETTINGS
from oneflow.runtime.events import SINK, EventKind, TraceEvent
from oneflow.tensor.tensor import Tensor


def _ignore(event: TraceEvent) -> None:
    """Count nothing: a function counts for the operator that is computed."""


_Formula = TypeVar("_Formula", bound=Callable[..., int])
_GLOBAL = "Global"
#: Functions that count what an operator computes, by operator.
_FORMULAS: dict[CustomOpDef, Callable[..., int]] = {}


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[_Formula], _Formula]:
    """Return a decorator of functions that count what operators compute.

    Args:
        targets: operators of `torch.library.custom_op`, one or several.
        get_raw: whether the function takes the arguments, and ``out_val``; else it takes their
            shapes in place of tensors, and ``out_shape``.

    Raises:
        ValueError: a target is no operator.
        NotImplementedError: one is PyTorch's own: of these the steps of XLA's programs count.
        RuntimeError: one has a function.
    """

    def register(formula: _Formula) -> _Formula:
        for target in tree_leaves(targets):
            if isinstance(target, OpOverloadPacket):
                raise NotImplementedError(
                    f"`register_flop_formula`: {target} is PyTorch's; steps of XLA's programs are "
                    "counted for it"
                )
            if not isinstance(target, CustomOpDef):
                raise ValueError(
                    f"`targets` must be operators of `torch.library.custom_op`, got {target!r}"
                )
            if target in _FORMULAS:
                raise RuntimeError(f"duplicate registrations for {target.name}")
            _FORMULAS[target] = formula if get_raw else _of_shapes(formula)
        return formula

    return register


def _of_shapes(formula: Callable[..., int]) -> Callable[..., int]:
    def count(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, out = tree_map_only(Tensor, lambda x: x.shape, (args, kwargs, out_val))
        return formula(*args, out_shape=out, **kwargs)

    return count


class FlopCounterMode:
    """A context that counts the operations of products and convolutions inside, by module.

    Operations of backward passes count for ``"Global"`` alone. Operators run one by one meanwhile.

    Args:
        mods: accepted: modules are found as they are called.
        depth: the depth of modules in the table.
        display: print the table at the end.
        custom_mapping: must be empty: what is counted are steps of XLA's programs.

    Raises:
        NotImplementedError: a `custom_mapping`.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.utils.flop_counter import FlopCounterMode
        >>> with FlopCounterMode(display=False) as counter:
        ...     y = torch.nn.Linear(4, 5)(torch.ones(2, 4))
        >>> counter.get_total_flops()
        80
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        if custom_mapping:
            raise NotImplementedError("`custom_mapping`: steps of XLA's programs are counted")
        self.depth, self.display = depth, display
        self.flop_counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._names: dict[nn.Module, str] = {}
        self._open = [_GLOBAL]

    def __enter__(self) -> Self:
        if SINK.record is not None:
            raise RuntimeError("a profile is being made; only one can be made at a time")
        flush_all("sync")
        self.flop_counts.clear()
        self._before = SETTINGS.by_operator, SETTINGS.limit
        # An operator runs when it is called: of what is gone by then nothing would be computed.
        SETTINGS.by_operator, SETTINGS.limit = True, 1
        SINK.record = self._record
        COUNTING.call = self._call
        self._handles = [
            register_module_forward_pre_hook(self._begin),
            register_module_forward_hook(self._end, always_call=True),
        ]
        return self

    def __exit__(self, *exception: object) -> None:
        for handle in self._handles:
            handle.remove()
        flush_all("sync")
        SINK.record = COUNTING.call = None
        SETTINGS.by_operator, SETTINGS.limit = self._before
        self._open = [_GLOBAL]
        if self.display:
            print(self.get_table(self.depth))  # noqa: T201 - as PyTorch's does

    def _begin(self, module: nn.Module, args: Any) -> None:
        flush_all("sync")
        if module not in self._names:
            root = type(module).__name__
            for name, submodule in module.named_modules():
                self._names[submodule] = f"{root}.{name}" if name else root
        self._open.append(self._names[module])

    def _end(self, module: nn.Module, args: Any, output: Any) -> None:
        flush_all("sync")
        self._open.pop()

    def _record(self, event: TraceEvent) -> None:
        if event.kind is EventKind.OPERATOR:
            flops = product_flops(event.operation)
            for name in set(self._open) if flops else ():
                self.flop_counts[name][event.name] += flops

    def _call(self, operator: CustomOpDef, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Compute an operator; where a function counts for it, its steps do not."""
        formula = _FORMULAS.get(operator)
        if formula is None:
            return operator.compute(args, kwargs)
        flush_all("sync")
        SINK.record = _ignore
        try:
            result = operator.compute(args, kwargs)
            flush_all("sync")
        finally:
            SINK.record = self._record
        flops = formula(*args, **kwargs, out_val=result)
        for name in set(self._open):
            self.flop_counts[name][operator.name] += flops
        return result

    def get_total_flops(self) -> int:
        """Return the sum over everything."""
        return sum(self.flop_counts[_GLOBAL].values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """Return the sums by module and operator."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Return the sums as a text, of modules down to a depth."""
        max_depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        rows = [("Module", "FLOP", "% Total")]
        for name, counts in self.flop_counts.items():
            level = 0 if name == _GLOBAL else name.count(".") + 1
            if level <= max_depth:
                flops = sum(counts.values())
                rows.append((" " * level + name, str(flops), f"{flops / max(total, 1):.2%}"))
        width = max(len(row[0]) for row in rows)
        return "\n".join(f"{name:<{width}}  {flops:>16}  {part:>8}" for name, flops, part in rows)


__all__ = ["FlopCounterMode", "register_flop_formula"]
