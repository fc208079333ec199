"""The planner's command line."""

from __future__ import annotations

import argparse
import ast
import importlib.util
import inspect
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from oneflow.base.command_parser import CommandParser
from oneflow.base.device import DEVICE_TYPES, set_cpu_devices
from oneflow.base.placement import Placement
from oneflow.base.suggestions import did_you_mean
from oneflow.base.units import bytes_text
from oneflow.compiler.topologies import missing_devices
from oneflow.plan.chip_file import register_chips
from oneflow.plan.comparison import alternatives, compare, comparison_text, performance_text
from oneflow.plan.plan import Plan, plan_graph
from oneflow.plan.xla import MAX_DEVICES
from oneflow.primitives.cost.chips import Chip, chip_named, chip_names
from oneflow.runtime.planning_mode import planning

_DESCRIPTION = """\
Print the costs of a step of a graph on devices that are not there: for each device, memory,
operations and bytes of every kind of collective; and the SBP of every tensor.

FILE.py:FUNCTION is a function that takes a placement, and returns a graph on it and a tuple of the
arguments to call it with. NAME=VALUE are further arguments for it. It runs without any device:
tensors of any size cost nothing, and have no values."""


def parse_args(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the planner's options, from the command line unless given."""
    parser = CommandParser(
        prog="python -m oneflow plan",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("function", metavar="FILE.py:FUNCTION", nargs="?", help="makes the graph and its arguments")
    add("options", metavar="NAME=VALUE", nargs="*", help="arguments of FUNCTION")
    add("--ranks", default="1", help="the mesh, such as 8 or 8x512; default: 1")
    add("--type", default="cuda", choices=tuple(DEVICE_TYPES), help="of the devices")
    add("--chips", metavar="NAME:RANKS", help="the mesh and the kind of its chips; list: the kinds")
    add("--model", action="store_true", help="use the cost model alone; do not ask XLA")
    add("--chip-file", metavar="FILE.toml", help="more chips for --chips")
    add("--compare", action="store_true", help="one line for each of NAME=VALUE,VALUE,...")
    add("--search", action="store_true", help="as --compare; name the fastest that fits")
    add("--tokens", type=int, help="of a step; default: integers, or rows, of the first argument")
    add("--price", type=float, help="of a chip for an hour, for the cost of a million tokens")
    add("--html", metavar="FILE", help="write the plan as a page, too")
    add("--edges", action="store_true", help="list every operator with the SBP of its tensors")
    options = parser.parse_intermixed_args(arguments)
    if options.chips == "list":
        return options
    if options.function is None:
        parser.error("name a function: `FILE.py:FUNCTION`")
    if options.chips:
        options.chips, _, ranks = options.chips.partition(":")
        options.ranks = ranks or options.ranks
    if not re.fullmatch(r"[1-9]\d*(x[1-9]\d*)*", options.ranks):
        parser.error(f"--ranks must look like 8 or 8x512, got {options.ranks!r}")
    if ":" not in options.function:
        parser.error(f"name a function: `{options.function}:make`")
    for option in options.options:
        if "=" not in option:
            parser.error(f"{option!r} is not NAME=VALUE")
    if problem := _problem(options):
        parser.error(problem)
    return options


def _problem(options: argparse.Namespace) -> str:
    """The reason why options cannot be meant so, by themselves or together; empty: none."""
    if options.tokens is not None and options.tokens < 1:
        return f"--tokens must be positive, got {options.tokens}"
    if options.price is not None and not 0 <= options.price < math.inf:
        return f"--price must be a finite number from 0 on, got {options.price}"
    if not options.compare and not options.search:
        return ""
    for option in ("html", "edges"):
        if getattr(options, option):
            return f"--{option} shows one plan; leave out --compare and --search"
    return "" if options.options else "give alternatives to compare: NAME=VALUE,VALUE"


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the plan that the command line asks for, and show it."""
    options = parse_args(arguments)
    try:
        if options.chip_file:
            register_chips(options.chip_file)
    except (OSError, ValueError) as error:
        sys.exit(f"python -m oneflow plan: {error}")
    if options.chips == "list":
        sys.stdout.write(chip_list())
        return
    try:
        make = function_named(options.function)
        _check_names(make, [option.partition("=")[0] for option in options.options])
    except (AttributeError, FileNotFoundError, TypeError) as error:
        sys.exit(f"python -m oneflow plan: {error}")
    hierarchy = tuple(map(int, options.ranks.split("x")))
    count = math.prod(hierarchy)
    chip = None
    if options.chips:
        try:
            chip = _chip_of(options.chips, hierarchy, compile=not options.model)
        except (ValueError, RuntimeError) as error:
            sys.exit(f"python -m oneflow plan: {error}")
    if not options.model and not chip and count <= MAX_DEVICES:
        set_cpu_devices(count)
    placement = Placement(chip.type if chip else options.type, list(range(count)), hierarchy)

    def plan_with(arguments: Mapping[str, str]) -> Plan:
        values = {name: _value(text) for name, text in arguments.items()}
        return make_plan(make, placement, values, compile=not options.model, chip=chip)

    if options.compare or options.search:
        _write_comparison(options, plan_with)
    else:
        _write_plan(options, plan_with(dict(option.split("=", 1) for option in options.options)))


def _write_comparison(
    options: argparse.Namespace, plan_with: Callable[[Mapping[str, str]], Plan]
) -> None:
    combinations = alternatives(options.options)
    plans = compare(
        combinations,
        lambda values: plan_with(values).contents,
        options.tokens,
        options.price,
    )
    sys.stdout.write(comparison_text(plans, options.search))


def _write_plan(options: argparse.Namespace, plan: Plan) -> None:
    sys.stdout.write(plan.listing() if options.edges else repr(plan))
    if options.chips or options.tokens or options.price is not None:
        sys.stdout.write(f"\n{performance_text(plan.contents, options.tokens, options.price)}\n")
    if options.html:
        plan.save(options.html)


def chip_list() -> str:
    """The chips that `--chips` takes, as text."""
    chips = map(chip_named, chip_names())
    return "".join(
        f"{chip.name:10}  {bytes_text(chip.memory):>8}  {chip.bandwidth / 1e12:.2f} TB/s  "
        f"bfloat16 {chip.flops['bfloat16'] / 1e12:.0f} TFLOP/s  float32 "
        f"{chip.flops['float32'] / 1e12:.0f} TFLOP/s  links {chip.link / 1e9:.0f} GB/s  "
        f"nodes of {chip.node_size}, {chip.network / 1e9:.0f} GB/s between them\n"
        for chip in chips
    )


def make_plan(
    make: Callable[..., tuple[Any, Any]],
    placement: Placement,
    options: dict[str, Any],
    compile: bool = True,
    chip: Chip | None = None,
) -> Plan:
    """Return the plan of the graph and arguments that ``make(placement, **options)`` returns.

    Raises:
        TypeError: it returns something else.
    """
    with planning():
        result = make(placement, **options)
        is_pair = isinstance(result, tuple) and len(result) == 2
        if not is_pair or not isinstance(result[1], list | tuple):
            raise TypeError(
                f"`{make.__name__}` must return a graph and a tuple of its arguments, "
                f"got {result!r}"
            )
        graph, args = result
        return plan_graph(graph, *args, compile=compile, chip=chip)


def _chip_of(name: str, hierarchy: tuple[int, ...], compile: bool) -> Chip:
    """The chip of a name, for which XLA can compile if it shall.

    GPUs along the last dimension of a mesh of several dimensions are a node.
    """
    chip = chip_named(name)
    if chip.type == "cuda" and hierarchy[1:] and hierarchy[-1] < chip.node_size:
        chip = replace(chip, node_size=hierarchy[-1])
    if compile:
        missing_devices(chip, math.prod(hierarchy))
    return chip


def function_named(name: str) -> Callable[..., Any]:
    """Return the function that ``FILE.py:FUNCTION`` names.

    Raises:
        FileNotFoundError: there is no such file.
        AttributeError: it has no such function.
    """
    file, _, attribute = name.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # `python FILE.py` adds the folder of the file, too.
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    if not hasattr(module, attribute):
        hint = did_you_mean(attribute, vars(module))
        raise AttributeError(f"{file} has no function `{attribute}`{hint}")
    return getattr(module, attribute)


def _check_names(make: Callable[..., Any], named: Iterable[str]) -> None:
    """Check that a function has arguments of these names.

    Raises:
        TypeError: it has not.
    """
    parameters = inspect.signature(make).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for name in named:
        if name not in parameters:
            hint = did_you_mean(name, parameters)
            raise TypeError(f"`{make.__name__}` has no argument `{name}`{hint}")


def _value(text: str) -> Any:
    """The value of an argument: a Python literal, else text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
