"""Write `docs/job_names.md`: what names of job functions are called today, and accepted settings.

``python tools/make_job_pages.py`` writes it; with ``--check`` it exits with 1 if the page is not
what it should be. Names come from `docs/job_names.tsv`, what they are from the package.
"""

from __future__ import annotations

import csv
import importlib
import inspect
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generated_files import write_or_check

import oneflow as flow
import oneflow.nn  # registers its functions
from oneflow.compatible import single_client
from oneflow.functional.registry import FUNCTIONS
from oneflow.legacy import config, function_config
from oneflow.legacy.unsupported import UNSUPPORTED

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, NAMES = DOCS / "job_names.md", DOCS / "job_names.tsv"
# Namespaces that job functions have for themselves.
_OWN = ("config.", "data.", "experimental.", "image.", "layers.", "math.", "optimizer.")
_INTRODUCTION = """\
# Names of job functions

Written by `tools/make_job_pages.py`. [Job functions](job_functions.md) explains the rest.

## What they are called today

Names that stand here alone mean today what they meant then; of the others the second column says
what a new program uses instead.

| name | today |
| --- | --- |
"""
_COLLISIONS = """
## Names that mean something else today

In `oneflow` these names have today's arguments; in `oneflow.compatible.single_client`, and where a
program calls them in the body of a job with the arguments of that time, the earlier ones.

| name | in `oneflow` | in `oneflow.compatible.single_client` |
| --- | --- | --- |
"""
_SETTINGS = """
## Settings that change nothing

They are accepted, each for a reason.

| setting | reason |
| --- | --- |
"""
_REFUSED = """
## Names that are refused

Asking for one of them is an `AttributeError` that says what stands for it.

| name | what stands for it |
| --- | --- |
"""


def resolved(name: str) -> Any:
    """Return the object that a name means.

    Raises:
        AttributeError: there is none.
    """
    found: Any = flow
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            path = f"{getattr(found, '__name__', '')}.{part}"
            try:
                found = importlib.import_module(path)
            except ImportError:
                raise AttributeError(f"{NAMES.name}: oneflow has no `{name}`") from None
    return found


def counterparts() -> Iterator[tuple[str, str]]:
    """Yield each name with what it is called today."""
    paths: dict[int, list[str]] = defaultdict(list)
    for path, published in FUNCTIONS.items():
        if not path.startswith(_OWN):
            paths[id(published)].append(path)
    with NAMES.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            name, given = row["name"], row["today"]
            known = sorted(paths[id(resolved(name))], key=lambda path: (path.count("."), path))
            yield name, given or (known[0] if known and name not in known else "")


def signature(function: Any) -> str:
    """Return the names of a function's arguments."""
    return f"({', '.join(inspect.signature(function).parameters)})"


def page() -> str:
    """Return the page."""
    lines = [_INTRODUCTION.rstrip()]
    for name, today in counterparts():
        text = today if " " in today or not today else f"`{today}`"
        lines.append(f"| `{name}` | {text} |")
    lines.append(_COLLISIONS.rstrip())
    for name in sorted(set(vars(single_client)) & set(vars(flow))):
        ours, earlier = getattr(flow, name), getattr(single_client, name)
        if not name.startswith("_") and ours is not earlier:
            lines.append(f"| `{name}` | `{signature(ours)}` | `{signature(earlier)}` |")
    lines.append(_SETTINGS.rstrip())
    for owner, settings in (
        ("FunctionConfig", function_config.ACCEPTED | function_config.ACCEPTED_GROUPS),
        ("config", config.ACCEPTED | config.ACCEPTED_GROUPS),
    ):
        lines += [f"| `{owner}.{name}` | {settings[name]} |" for name in sorted(settings)]
    lines.append(_REFUSED.rstrip())
    lines += [f"| `{name}` | {hint} |" for name, hint in sorted(UNSUPPORTED.items())]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write or check the page."""
    write_or_check(lambda: [(PAGE, page())], __doc__)


if __name__ == "__main__":
    main()
