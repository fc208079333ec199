"""Finalizers that compute while Python ends, when no thread can be started and none goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FINALIZER = """
import sys
import oneflow as flow


class Late:
    def __init__(self):
        self.x = flow.ones(3)
        self.known = flow.ones(3) * 2
        self.write, self.is_ending = sys.stderr.write, sys.is_finalizing
        BEFORE

    def __del__(self):
        if self.is_ending():
            self.write(f"{self.known.tolist()} ")
            AT_THE_END


late = Late()
"""
# The thread that compiles for the main thread is there already, or not.
BEFORE = ["self.known.tolist()", "flow.compile(lambda x: x + 1)(self.x).tolist()"]
AT_THE_END = [
    "self.x.cumsum(0).tolist()",
    "[self.x.add_(i).mul_(0.5) for i in range(500)]; self.x.tolist()",
]


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("at_the_end", AT_THE_END)
def test_a_finalizer_that_computes_does_not_hang(
    tmp_path: Path, before: str, at_the_end: str
) -> None:
    finalizer = FINALIZER.replace("BEFORE", before).replace("AT_THE_END", at_the_end)
    (tmp_path / "finalizer.py").write_text(finalizer)
    # Modules are taken apart in reverse order: this one while the framework is still whole.
    program = "import oneflow, finalizer"
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0
    assert ended.stderr.startswith("[2.0, 2.0, 2.0] ")
