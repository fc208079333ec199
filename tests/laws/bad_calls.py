"""Calls that must raise, as they are typed, by family: ``bad_calls.txt``.

There `t` is the library, `f` its functions and `nn` its modules; the tensors are those of
`names_for`.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any


def names_for(lib: ModuleType) -> dict[str, Any]:
    """The names that the calls use, in a library."""
    return {
        "t": lib,
        "f": lib.nn.functional,
        "nn": lib.nn,
        "v": lib.ones(3),
        "m": lib.ones(2, 3),
        "sq": lib.eye(3),
        "cube": lib.ones(2, 3, 4),
        "image": lib.ones(1, 3, 8, 8),
        "ints": lib.tensor([[1, 2, 3], [4, 5, 6]]),
        "index": lib.tensor([0, 1]),
        "mask": lib.tensor([True, False, True]),
        "cplx": lib.ones(3, dtype=lib.complex64),
        "none": lib.ones(0),
        "scalar": lib.tensor(2.0),
        "leaf": lib.ones(3, requires_grad=True),
        "wide": lib.ones(3, dtype=lib.float64),
    }


def calls(file: str = "bad_calls.txt") -> dict[str, list[str]]:
    """The calls of each family in a file of this folder."""
    found: dict[str, list[str]] = {}
    for line in Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            found[line[2:]] = []
        else:
            found[list(found)[-1]].append(line)
    return found
