"""Write `docs/how_to/environment_variables.md`: every variable that `oneflow` reads.

``python tools/make_environment_page.py`` writes it from `oneflow.base.environment`; with
``--check`` it exits with 1 if the page is not what it should be.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from generated_files import write_or_check

from oneflow.base import environment
from oneflow.base.environment import EnvironmentVariable
from oneflow.base.replaced_variables import REPLACED

PAGE = Path(__file__).resolve().parents[1] / "docs/how_to/environment_variables.md"
_INTRODUCTION = """\
# Environment variables

Written by `tools/make_environment_page.py` from `oneflow.base.environment`. They are set before
`oneflow` is imported. `python -m oneflow doctor` shows those that differ from their defaults.

| variable | default | meaning |
| --- | --- | --- |
"""
_REPLACED = """
## Variables of OneFlow 0.9

They are not read. `python -m oneflow doctor` lists those that are set.

| variable | in its place |
| --- | --- |
"""


def variables() -> list[EnvironmentVariable]:
    """Return the variables, in the order of their definition."""
    found = vars(environment).values()
    return [variable for variable in found if isinstance(variable, EnvironmentVariable)]


def page() -> str:
    """Return the whole page."""
    return "".join(_lines())


def _lines() -> Iterator[str]:
    yield _INTRODUCTION
    for variable in variables():
        default = f"`{variable.default}`" if variable.default else ""
        description = variable.description.replace("`docs/tuning.md`", "[Tuning](../tuning.md)")
        yield f"| `{variable.name}` | {default} | {description} |\n"
    yield _REPLACED
    for name, place in sorted(REPLACED.items()):
        yield f"| `{name}` | {place} |\n"


def main() -> None:
    """Write the page, or compare it."""
    write_or_check(lambda: [(PAGE, page())], __doc__)


if __name__ == "__main__":
    main()
