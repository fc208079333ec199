"""Runs the cases of a library: ``python -m tools.third_party.child``.

A case that has a result is not run again. What it measures is kept in a file on PyTorch, and
compared with that file on this package.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from tools.third_party.comparison import difference
from tools.torch_tests.results import FAILED, PASSED, STARTED, Result, Results, results_of

import oneflow.mock_torch

_MESSAGE_LENGTH = 2000


def _message(error: BaseException) -> str:
    """The error, and the places from which it comes: in the library, and here."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{f.filename}:{f.lineno}: {f.line}" for f in frames[-6:]]
    text = "".join(traceback.format_exception_only(error)).strip()
    return "\n".join([text[:_MESSAGE_LENGTH], *places])


def _run(
    case: Callable[[], Mapping[str, np.ndarray]], file: Path, framework: str
) -> tuple[str, str]:
    """The outcome of a case, and what went wrong."""
    try:
        values = case()
    except Exception as error:
        return FAILED, _message(error)
    if framework == "torch":
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, allow_pickle=False, **values)
        return PASSED, ""
    with np.load(file) as expected:
        message = difference(values, expected)
    return (FAILED, message) if message else (PASSED, "")


def _enter(framework: str, cache: Path, library: str) -> None:
    """Give the name `torch` its meaning, and go to a folder for the files that cases write."""
    folder = cache / "scratch" / library / framework
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    if framework == "oneflow":
        oneflow.mock_torch.enable()
    else:
        # Libraries import torchvision, whose build may lack its operators.
        importlib.import_module("tests.flowvision.torchvision_operators")


def main(framework: str, library: str, cache: Path, part: str) -> None:
    """Run the cases of a library that have no results yet.

    Raises:
        RuntimeError: PyTorch's own modules were loaded in place of this package's.
    """
    results = results_of(cache, framework, library)
    counted = results_of(cache, "torch", library).passed() if framework == "oneflow" else None
    _enter(framework, cache, library)
    try:
        cases = importlib.import_module(f"tools.third_party.programs.{library}").CASES
    except Exception as error:
        results.add(Result("import", FAILED, _message(error)))
        raise
    results.add(Result("import", PASSED))
    for name in results.by_test.keys() - cases.keys() - {"import"}:
        results.add(Result(name, FAILED, "there is no such case any more"))
    for name, case in cases.items():
        left_out = part not in name or (counted is not None and name not in counted)
        if not left_out and name not in results.by_test:
            _run_case(results, name, case, cache / "values" / library / f"{name}.npz")
    if framework == "oneflow":
        found = [x for x in sys.modules.values() if _is_pytorchs(getattr(x, "__file__", None))]
        if found:
            raise RuntimeError(f"PyTorch's modules were loaded: {found[:5]}")


def _run_case(results: Results, name: str, case: Callable, file: Path) -> None:
    results.add(Result(name, STARTED))
    framework = results.file.parent.name
    results.add(Result(name, *_run(case, file, framework)))
    gc.collect()


def _is_pytorchs(file: str | None) -> bool:
    return file is not None and "/site-packages/torch/" in file


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4])
