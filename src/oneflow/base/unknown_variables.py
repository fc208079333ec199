"""Environment variables that are named like this package's, and that nobody reads."""

from __future__ import annotations

import os
import warnings

from oneflow.base import environment
from oneflow.base.environment import EnvironmentVariable
from oneflow.base.replaced_variables import REPLACED
from oneflow.base.suggestions import did_you_mean

_PREFIX = "ONEFLOW_"


def documented_variables() -> list[str]:
    """The names of all variables that are read."""
    return [
        value.name for value in vars(environment).values() if type(value) is EnvironmentVariable
    ]


def unknown_variables() -> dict[str, str]:
    """Return the variables that are set and not known, each with the names that may be meant."""
    names = documented_variables()
    unknown = [
        name
        for name in os.environ
        if name.startswith(_PREFIX) and name not in names and name not in REPLACED
    ]
    return {name: did_you_mean(name, names) for name in unknown}


def warn_of_unknown_variables() -> None:
    """Warn of variables that are not known and whose name is like one that is."""
    for name, suggestion in unknown_variables().items():
        if suggestion:
            warnings.warn(
                f"the environment variable `{name}` is not read{suggestion}", stacklevel=2
            )
