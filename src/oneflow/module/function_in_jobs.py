"""Layers that were functions in OneFlow 0.1 to 0.4: ``flow.nn.L1Loss(input, target)``."""

from __future__ import annotations

from typing import Any, Self

from oneflow.functional.earlier_calls import earlier_meaning
from oneflow.functional.operator_names import job_bodies


class FunctionInJobs:
    """A class whose call is one of the function that it was, in the bodies of jobs."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        if job_bodies and (earlier := earlier_meaning(cls, args, kwargs)):
            return earlier(*args, **kwargs)
        new = super().__new__
        return new(cls) if new is object.__new__ else new(cls, *args, **kwargs)
