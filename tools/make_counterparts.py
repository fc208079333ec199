"""Write the names of PyTorch and torchvision into `docs/counterparts.tsv`.

A public name with something at the same path in PyTorch gets an ``=``; another path in that column
stays if it leads somewhere. The column of OneFlow is history and stays.
"""

from __future__ import annotations

import functools
import importlib
import pydoc
import sys
import types
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "extensions"))

from counterparts import HEADER, PYTORCH, TABLE, counterparts, same_path
from entries import entries, modules
from generated_files import write_or_check

# It declares operators without which some builds of torchvision cannot be imported.
importlib.import_module("tests.flowvision.zoo")


@functools.cache
def owner(path: str) -> Any:
    """Return the module or class of PyTorch at a path, or None."""
    try:
        found: Any = pydoc.locate(path)
    except pydoc.ErrorDuringImport:  # of modules that need packages beside PyTorch
        return None
    if isinstance(found, types.ModuleType):
        # Some of its modules import others as `torch.math`.
        return found if found.__name__.partition(".")[0] in PYTORCH.values() else None
    return found if isinstance(found, type) else None


def is_there(path: str) -> bool:
    """Say whether PyTorch has something at a path."""
    before, _, name = path.rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that PyTorch is about to drop
        return hasattr(owner(before), name)


def pytorch_column(name: str) -> str:
    """Return what stands in the column of PyTorch for a name."""
    if name.partition(".")[0] not in PYTORCH:
        return ""
    if is_there(same_path(name)):
        return "="
    known = counterparts()[name].pytorch if name in counterparts() else None
    return known if known is not None and is_there(known) else ""


def table() -> str:
    """Return the text of the table."""
    lines = ["\t".join(HEADER)]
    for name in sorted({entry.path for module in modules() for entry in entries(module)}):
        known = counterparts()[name].oneflow if name in counterparts() else None
        columns = (pytorch_column(name), "=" if known == name else known or "")
        if any(columns):
            lines.append("\t".join((name, *columns)))
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write or check the table."""
    write_or_check(lambda: [(TABLE, table())], __doc__)


if __name__ == "__main__":
    main()
