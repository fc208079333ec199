"""Plans of the same function with different arguments, one line each, and the best of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from oneflow.base.units import bytes_text, seconds_text
from oneflow.plan.contents import PlanContents
from oneflow.plan.text import table_lines
from oneflow.primitives.cost.chips import Chip, chip_of_type


@dataclass(frozen=True)
class Performance:
    """The work of a step in relation to its time.

    Attributes:
        tokens: of a step.
        tokens_per_second: the tokens per second of all devices together.
        utilization: part of the operations that the chips could compute in bfloat16 (MFU).
        price: the price of a million tokens; None: the price of a chip is not known.
    """

    tokens: int
    tokens_per_second: float
    utilization: float
    price: float | None

    @property
    def cells(self) -> list[str]:
        """Tokens per second, MFU and, if it is known, the price, as text."""
        price = [] if self.price is None else [f"{self.price:,.4f}"]
        return [f"{self.tokens_per_second:,.0f}", f"{self.utilization:.1%}", *price]


def performance_of(
    contents: PlanContents, tokens: int | None = None, price: float | None = None
) -> Performance:
    """The performance of a plan by the model's time.

    Args:
        contents: the plan.
        tokens: the tokens of a step; by default the integers in the first argument, or its rows.
        price: the price of a chip for an hour.

    Raises:
        ValueError: `tokens` is not positive.
    """
    if tokens is None:
        tokens = _tokens(contents)
    elif tokens < 1:
        raise ValueError(f"`tokens` must be positive, got {tokens}")
    seconds, size = sum(contents.seconds), contents.placement.size
    return Performance(
        tokens,
        _ratio(tokens, seconds),
        _ratio(contents.model.flops, seconds * _chip(contents).flops["bfloat16"]),
        None if price is None else _ratio(price * size / 3600 * seconds * 1e6, tokens),
    )


def _ratio(numerator: float, denominator: float) -> float:
    """The quotient; a step without work takes no time."""
    if denominator:
        return numerator / denominator
    return math.inf if numerator else 0.0


def performance_text(
    contents: PlanContents, tokens: int | None = None, price: float | None = None
) -> str:
    """The performance of a plan in a sentence; takes the arguments of `performance_of`."""
    performance = performance_of(contents, tokens, price)
    rate, utilization, *cost = performance.cells
    costs = f"; a million tokens cost {cost[0]}" if cost else ""
    return (
        f"{performance.tokens:,} tokens a step, {rate} tokens/s, {utilization} of the operations "
        f"that {_chip(contents).name} computes in bfloat16 (MFU){costs}"
    )


def _chip(contents: PlanContents) -> Chip:
    return contents.chip or chip_of_type(contents.placement.type)


def _tokens(contents: PlanContents) -> int:
    """The tokens of a step, as far as its first argument tells."""
    for row in contents.inputs:
        if row.kind == "argument" and row.shape:
            size = 1
            for length in row.shape if row.dtype.startswith("int") else row.shape[:1]:
                size *= length
            return size
    return 1


@dataclass(frozen=True)
class PlanSummary:
    """One line of a comparison.

    Attributes:
        options: the arguments that differ, or all if none does, as on the command line.
        contents: the plan; None: there is none.
        problem: the reason why there is none.
        performance: the plan's.
    """

    options: Mapping[str, str]
    contents: PlanContents | None
    problem: str = ""
    performance: Performance | None = None

    @property
    def fits(self) -> bool:
        """True if the memory of the chip is large enough."""
        contents = self.contents
        return contents is not None and contents.estimate.memory.peak <= _chip(contents).memory

    @property
    def seconds(self) -> float:
        """Seconds of a step, by the model."""
        return sum(self.contents.seconds) if self.contents else float("inf")


def alternatives(options: Iterable[str]) -> list[dict[str, str]]:
    """All combinations of arguments; some arguments have alternatives, as on the command line.

    Example:
        >>> from oneflow.plan.comparison import alternatives
        >>> alternatives(["zero=0,1", "width=8"])
        [{'zero': '0', 'width': '8'}, {'zero': '1', 'width': '8'}]
    """
    names, values = [], []
    for option in options:
        name, _, value = option.partition("=")
        names.append(name)
        values.append([value] if value[:1] in ("(", "[", "{", '"', "'") else value.split(","))
    return [
        dict(zip(names, combination, strict=True)) for combination in itertools.product(*values)
    ]


def compare(
    combinations: Sequence[Mapping[str, str]],
    make: Callable[[Mapping[str, str]], PlanContents],
    tokens: int | None = None,
    price: float | None = None,
) -> list[PlanSummary]:
    """Plan every combination of arguments; one that cannot be planned says why not.

    Args:
        combinations: the arguments of each plan.
        make: makes the plan with some arguments.
        tokens: the same as in `performance_of`.
        price: the same as in `performance_of`.
    """
    first = combinations[0]
    varying = [name for name in first if len({options[name] for options in combinations}) > 1]
    plans = []
    for options in combinations:
        changed_options = {name: options[name] for name in varying or first}
        try:
            contents = make(options)
        except Exception as error:  # The function that makes the plan raises what it likes.
            plans.append(PlanSummary(changed_options, None, f"{type(error).__name__}: {error}"))
            continue
        performance = performance_of(contents, tokens, price)
        plans.append(PlanSummary(changed_options, contents, "", performance))
    return plans


def comparison_text(plans: Sequence[PlanSummary], names: bool = False) -> str:
    """A comparison as a table.

    Args:
        plans: the plans.
        names: say which is the fastest of those that fit, and put the fastest first.
    """
    ordered = sorted(plans, key=lambda plan: (not plan.fits, plan.seconds)) if names else plans
    has_cost = any(plan.performance and plan.performance.price is not None for plan in plans)
    columns = [*plans[0].options, "memory", "fits", "computing", "exchanging", "sends", "a step"]
    columns += ["tokens/s", "MFU", *(["per million"] if has_cost else [])]
    lines = table_lines(columns, [_cells(plan) for plan in ordered])
    lines += [f"{_text(plan.options)}: {plan.problem}" for plan in ordered if plan.problem]
    if names:
        best = ordered[0]
        summary = f"the fastest that fits: {_text(best.options)}" if best.fits else "none fits"
        lines += ["", summary]
    return "\n".join([*lines, ""])


def _text(options: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in options.items())


def _cells(plan: PlanSummary) -> list[str]:
    if plan.contents is None or plan.performance is None:
        return [*plan.options.values(), "cannot be planned"]
    estimate = plan.contents.estimate
    return [
        *plan.options.values(),
        bytes_text(estimate.memory.peak),
        "yes" if plan.fits else "no",
        *map(seconds_text, plan.contents.seconds),
        bytes_text(estimate.sent),
        seconds_text(plan.seconds),
        *plan.performance.cells,
    ]
