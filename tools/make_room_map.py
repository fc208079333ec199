"""Write `docs/rooms.md`: the rooms of the source, from the user down, with what they hold.

The layers are those of the import contract in `pyproject.toml`, the texts the first lines of the
packages' documentation.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

from generated_files import write_or_check

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "rooms.md"
_INTRODUCTION = """\
# Rooms

Written by `tools/make_room_map.py`: the folders of `src/oneflow`, from the user down. A room may
import those of lower layers, and of its own layer too, unless the layer is marked `apart`.
[Architecture](architecture.md) explains the seams.

| layer | room | what it holds |
| --- | --- | --- |
"""


def layers() -> list[str]:
    """Return the layers of the import contract, each with its rooms, from the user down."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    return next(contract["layers"] for contract in contracts if contract["type"] == "layers")


def first_line(room: str) -> str:
    """Return the first line of a package's documentation."""
    module = ast.parse((ROOT / "src" / "oneflow" / room / "__init__.py").read_text("utf-8"))
    return (ast.get_docstring(module) or "").partition("\n")[0].replace("``", "`")


def page() -> str:
    """Return the page."""
    lines = [
        f"| {number}{', apart' if '|' in layer else ''} | `{room}/` | {first_line(room)} |\n"
        for number, layer in enumerate(layers(), 1)
        for room in re.findall(r"\w+", layer)
    ]
    return _INTRODUCTION + "".join(lines)


def main() -> None:
    """Write or check the page."""
    write_or_check(lambda: [(PAGE, page())], __doc__)


if __name__ == "__main__":
    main()
