"""Orders of passes over graph modules: ``torch.fx.passes.infra.pass_manager``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from oneflow import nn
from oneflow.mock_torch.pytorch.fx.passes.infra.pass_base import PassResult

Pass = Callable[..., Any]
Constraint = Callable[[Pass, Pass], bool]


def pass_result_wrapper(fn: Pass | None) -> Any:
    """Return a pass that gives a `PassResult`, of one that gives a module, or None for its own.

    Args:
        fn: the pass; None is returned as it is.
    """
    if fn is None:
        return None
    function = fn

    @functools.wraps(function)
    def wrapped(module: nn.Module) -> PassResult | None:
        result = function(module)
        if isinstance(result, PassResult):
            return result
        return PassResult(module if result is None else result, True)

    if not inspect.isfunction(function):
        wrapped.__name__ = type(function).__name__
    return wrapped


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """Return a constraint: one pass stands before another.

    Args:
        this: the pass that comes first.
        that: the other one.

    Returns:
        A function of two passes that says whether the first may stand before the second.
    """

    def is_before(a: Pass, b: Pass) -> bool:
        return a != that or b != this

    return is_before


def _check_order(constraint: Constraint, passes: list[Pass]) -> None:
    for number, earlier in enumerate(passes):
        for later in passes[number + 1 :]:
            if not constraint(earlier, later):
                raise RuntimeError(
                    f"pass schedule constraint violated. Expected {later} before {earlier} but "
                    f"found {earlier} first in pass list."
                )


def _topological_sort_passes(passes: list[Pass], constraints: list[Constraint]) -> list[Pass]:
    """Return passes in an order that constraints allow: of those that may come next, the first."""
    remaining, ordered = list(passes), []
    while remaining:
        for candidate in remaining:
            others = [other for other in remaining if other != candidate]
            if all(constraint(candidate, other) for constraint in constraints for other in others):
                break
        else:
            raise RuntimeError(
                f"Circular dependency detected within the following passes: {remaining}"
            )
        remaining.remove(candidate)
        ordered.append(candidate)
    return ordered


class PassManager:
    """Passes, run one after the other.

    Args:
        passes: the passes, which give a `PassResult` each.
        constraints: functions of two passes that say whether the first may stand before the second.
        steps: how often the passes are run at most; they end when none changes anything.
        run_checks_after_each_pass: check the module after each pass.
        suppress_check_failures: go on when a check fails.
    """

    def __init__(
        self,
        passes: list[Pass] | None = None,
        constraints: list[Constraint] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes, self.constraints = passes or [], constraints or []
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass: Pass) -> None:
        """Add a pass behind the others."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Add a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Check the order of the passes.

        Raises:
            RuntimeError: a constraint forbids it.
        """
        if not self._validated:
            for constraint in self.constraints:
                _check_order(constraint, self.passes)
            self._validated = True

    def solve_constraints(self) -> None:
        """Bring the passes into an order that the constraints allow.

        Raises:
            RuntimeError: there is none.
        """
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check: Callable[[nn.Module], None]) -> None:
        """Set the check of modules.

        Raises:
            TypeError: it takes another number of arguments than one.
        """
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check  # pyright: ignore[reportAttributeAccessIssue]

    def check(self, module: nn.Module) -> None:
        """Check a module; `add_checks` sets another function."""

    def __call__(self, module: nn.Module) -> PassResult:
        """Run the passes.

        Raises:
            TypeError: a pass does not give a `PassResult`.
            Exception: a pass, or a check, has raised one.
        """
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        is_modified = False
        for _ in range(self.steps):
            was_modified_now = False
            for function in self.passes:
                result = self._run(function, module)
                module = result.graph_module
                was_modified_now = was_modified_now or result.modified
                if self.run_checks_after_each_pass:
                    self.check(module)
            is_modified = is_modified or was_modified_now
            if not was_modified_now:
                break
        return PassResult(module, is_modified)

    def _run(self, function: Pass, module: nn.Module) -> PassResult:
        name = function.__name__ if inspect.isfunction(function) else type(function).__name__
        try:
            result = function(module)
        except Exception as error:
            names = [getattr(other, "__name__", type(other).__name__) for other in self.passes]
            raise Exception(
                f"An error occurred when running the '{name}' pass of {names}"
            ) from error
        if not isinstance(result, PassResult) and not hasattr(result, "graph_module"):
            raise TypeError(
                f"The result of the pass {name} should be type PassResult. Please wrap it with "
                "pass_result_wrapper()"
            )
        return result
