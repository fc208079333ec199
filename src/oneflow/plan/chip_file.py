"""Chips in a TOML file, each a table of the fields of `Chip`, or of those that are not another's.

[h100_pcie]
like = "h100"
bandwidth = 2.0e12
link = 6.4e10
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import fields, replace
from pathlib import Path

from oneflow.base.suggestions import did_you_mean
from oneflow.primitives.cost.chips import Chip, chip_named, register_chip

_FIELDS = tuple(field.name for field in fields(Chip) if field.name != "name")


def register_chips(path: str | os.PathLike[str]) -> list[str]:
    r"""Add the chips of a TOML file for `chip_named`; return their names.

    Raises:
        ValueError: a table is no chip.

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
    tables = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    for name, table in tables.items():
        register_chip(_chip(name, table, path))
    return list(tables)


def _chip(name: str, table: object, path: str | os.PathLike[str]) -> Chip:
    if not isinstance(table, dict):
        raise ValueError(f"{path}: `{name}` must be a table, such as [{name}]; got {table!r}")
    values = dict(table)
    like = values.pop("like", None)
    for field in values:
        if field not in _FIELDS:
            raise ValueError(
                f"{path}: `{name}` has no field {field!r}; there are like, {', '.join(_FIELDS)}"
                f"{did_you_mean(field, _FIELDS)}"
            )
    missing = [field for field in _FIELDS if field not in values and field != "target"]
    if like is None and missing:
        raise ValueError(
            f"{path}: `{name}` lacks {', '.join(missing)}; give them, or the name of a chip from "
            "which they are taken as `like`"
        )
    return replace(chip_named(like), name=name, **values) if like else Chip(name, **values)
