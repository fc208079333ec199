"""Chips in a TOML file: each a table of fields of `Chip`, or of its differences from another.

[h100_pcie]
like = "h100"
bandwidth = 2.0e12
link = 6.4e10
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from oneflow.base.device import DEVICE_TYPES
from oneflow.base.suggestions import did_you_mean
from oneflow.primitives.cost.chips import Chip, chip_named, register_chip

_FIELDS = tuple(field.name for field in fields(Chip) if field.name != "name")
_NAME = re.compile(r"[\w.-]+")


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value)


def _is_rate(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and _is_rate(value)


def _are_flops(value: Any) -> bool:
    is_table = isinstance(value, dict) and value.keys() >= {"float32", "bfloat16"}
    return is_table and all(map(_is_rate, value.values()))


_RATE = (_is_rate, "a positive number of bytes per second")
#: The condition of each field: a check, and the same in words.
_VALUES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "type": (lambda value: value in list(DEVICE_TYPES), f"one of {', '.join(DEVICE_TYPES)}"),
    "flops": (
        _are_flops,
        "a table of positive numbers of operations per second, at least for float32 and bfloat16",
    ),
    "memory": (_is_count, "a positive integer, in bytes"),
    "bandwidth": _RATE,
    "link": _RATE,
    "network": _RATE,
    "latency": (lambda value: _is_number(value) and value >= 0, "a number of seconds from 0 on"),
    "node_size": (_is_count, "a positive integer"),
    "target": (lambda value: isinstance(value, dict), "a table"),
}


def register_chips(path: str | os.PathLike[str]) -> list[str]:
    r"""Add the chips of a TOML file for `chip_named`; return their names.

    Raises:
        ValueError: the file is not TOML, or a table is no chip.

    Example:
        >>> import tempfile
        >>> from oneflow.plan import chip_named, register_chips
        >>> with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        ...     _ = file.write('[h100_nvl]\nlike = "h100"\nmemory = 100_000_000_000\n')
        ...     file.flush()
        ...     register_chips(file.name)
        ['h100_nvl']
        >>> chip_named("h100_nvl").memory
        100000000000
    """
    try:
        tables = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        for name, table in tables.items():
            register_chip(_chip(name, table))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return list(tables)


def _chip(name: str, table: object) -> Chip:
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"a chip cannot be called {name!r}; names have letters, digits, `_`, `.` and `-`"
        )
    if not isinstance(table, dict):
        raise ValueError(f"`{name}` must be a table, such as [{name}]; got {table!r}")
    values = dict(table)
    like = values.pop("like", None)
    for field, value in values.items():
        if field not in _FIELDS:
            raise ValueError(
                f"`{name}` has no field {field!r}; there are like, {', '.join(_FIELDS)}"
                f"{did_you_mean(field, _FIELDS)}"
            )
        is_right, words = _VALUES[field]
        if not is_right(value):
            raise ValueError(f"`{field}` of `{name}` must be {words}, got {value!r}")
    missing = [field for field in _FIELDS if field not in values and field != "target"]
    if like is None and missing:
        raise ValueError(
            f"`{name}` lacks {', '.join(missing)}; give them, or the name of a chip from "
            "which they are taken as `like`"
        )
    if like is None:
        return Chip(name, **values)
    if not isinstance(like, str):
        raise ValueError(f"`like` of `{name}` must be the name of a chip, got {like!r}")
    return replace(chip_named(like), name=name, **values)
