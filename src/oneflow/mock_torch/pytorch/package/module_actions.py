"""The ways to deal with modules that a package needs."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from oneflow.mock_torch.pytorch.package._stdlib import is_stdlib_module
from oneflow.mock_torch.pytorch.package.errors import DISALLOWED_MODULES

# These are wherever a package is read.
_STANDARD_MODULES = ("torch", "oneflow")
MOCKED_SOURCE = """\
from _mock import MockedObject


def __getattr__(attr: str):
    if attr.startswith("__") and attr.endswith("__"):
        raise AttributeError(attr)
    return MockedObject(__name__ + "." + attr, _suppress_err=True)
"""


class Action(enum.Enum):
    """A way to deal with a module that the package needs."""

    INTERN = enum.auto()
    EXTERN = enum.auto()
    MOCK = enum.auto()
    DENY = enum.auto()
    # The classes that modules which were left out consist of, when they are packaged again.
    REPACKAGED_MOCK = enum.auto()
    SKIP = enum.auto()


@dataclass
class Pattern:
    """The rule for modules that a pattern matches.

    Attributes:
        action: what is done with them.
        allow_empty: no module need match.
        was_matched: one has matched.
    """

    action: Action
    allow_empty: bool
    was_matched: bool = False


def is_standard_module(module_name: str) -> bool:
    """Return whether every process has a module: this package's, and most of Python's own."""
    top = module_name.partition(".")[0]
    return top in _STANDARD_MODULES or (top not in DISALLOWED_MODULES and is_stdlib_module(top))
