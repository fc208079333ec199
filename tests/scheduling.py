"""The processes of `make test`: which tests each runs, and how XLA compiles their programs.

Most programs of tests run once, and optimizing them takes longer than all else that the tests do.
So every second process leaves it out. The others compile as for users, and run the tests whose
subject is what XLA makes of programs, and those of what has changed, before they take from the
rest. A process that is alone compiles as for users.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from xdist.scheduler import LoadGroupScheduling

# Tests whose programs are always compiled as for users: these folders, and files of laws.
OPTIMIZED = (
    "amp/",
    "compiler/",
    "distributed/",
    "global_view/",
    "graph/",
    "interpreter/",
    "laws/test_accuracy.py",
    "laws/test_complex_special_values.py",
    "laws/test_modules_in_graphs.py",
    "laws/test_operators.py",
    "laws/test_operators_in_graphs.py",
    "laws/test_random_programs.py",
    "opdb/",
    "optim/",
    "passes/",
    "primitives/",
    "random/",
)
# Names of groups begin with these if their tests, of one file, concern changes there, or elsewhere.
CHANGED, CHANGED_ELSEWHERE = "changed in ", "changed for "
# Without the first two a training step of a small network takes twice as long to compile, and
# without the third again twice as long.
_FLAGS = (
    "--xla_backend_optimization_level=0",
    "--xla_cpu_parallel_codegen_split_count=1",
    "--xla_backend_extra_options=xla_cpu_disable_new_fusion_emitters",
)
_LEAVES_OUT = "leaves_optimizations_out"


def choose_compilation(node: Any) -> None:
    """Tell a process that is to start how its programs are compiled."""
    node.workerinput[_LEAVES_OUT] = int(node.gateway.id.removeprefix("gw")) % 2 == 1


def set_compilation(config: pytest.Config) -> None:
    """Set XLA's flags for this process and those that it starts, before XLA reads them."""
    if getattr(config, "workerinput", {}).get(_LEAVES_OUT):
        os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *_FLAGS])


class FileScheduling(LoadGroupScheduling):
    """Give a process all tests of a file, but those of a group that spans files.

    Neighbouring tests share fixtures and compiled programs.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._optimized: dict[str, bool] = {}

    def _split_scope(self, nodeid: str) -> str:
        return super()._split_scope(nodeid).split("::")[0]

    def _assign_work_unit(self, node: Any) -> None:
        scope = self._next_scope(node)
        if scope is not None:
            self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

    def _reschedule(self, node: Any) -> None:
        if not node.shutting_down and self._next_scope(node) is None:
            node.shutdown()
        else:
            super()._reschedule(node)

    def _next_scope(self, node: Any) -> str | None:
        """The tests that a process runs next, if it may run any of those that remain."""
        optimizes = not node.workerinput.get(_LEAVES_OUT)
        for scope in self.workqueue:
            if self._is_optimized(scope) == optimizes:
                return scope
        return next(iter(self.workqueue), None) if optimizes else None

    def _is_optimized(self, scope: str) -> bool:
        if scope not in self._optimized:
            files = [nodeid.removeprefix("tests/") for nodeid in self.workqueue[scope]]
            self._optimized[scope] = scope.startswith((CHANGED, CHANGED_ELSEWHERE)) or any(
                file.startswith(OPTIMIZED) for file in files
            )
        return self._optimized[scope]
