"""``torch.torch_version``: a version that is a text, and is compared as a version."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable
from typing import Any

from oneflow.mock_torch.pytorch.version import __version__ as _version

_PATTERN = re.compile(
    r"""\s*v?
    (?:(?P<epoch>\d+)!)?
    (?P<release>\d+(?:\.\d+)*)
    (?:[-_.]?(?P<phase>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre>\d*))?
    (?P<after>-(?P<post_alone>\d+)|[-_.]?(?:post|rev|r)[-_.]?(?P<post>\d*))?
    (?P<development>[-_.]?dev[-_.]?(?P<dev>\d*))?
    (?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?
    \s*""",
    re.VERBOSE | re.IGNORECASE,
)
_RELEASE_ORDER = {"alpha": 0, "a": 0, "beta": 1, "b": 1, "preview": 2, "pre": 2, "c": 2, "rc": 2}
_FINAL = 3


def _key(text: str) -> tuple[Any, ...] | None:
    """Return the sort key of a version (PEP 440); None for a text that is no version."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        return None
    release = [int(number) for number in match["release"].split(".")]
    while release and release[-1] == 0:
        release.pop()
    if match["phase"]:
        phase = (_RELEASE_ORDER[match["phase"].lower()], int(match["pre"] or 0))
    else:
        # Releases under development come before all of their phases.
        phase = (-1 if match["development"] and not match["after"] else _FINAL, 0)
    local = re.split("[-_.]", match["local"].lower()) if match["local"] else []
    return (
        int(match["epoch"] or 0),
        release,
        phase,
        int(match["post_alone"] or match["post"] or 0) if match["after"] else -1,
        int(match["dev"] or 0) if match["development"] else math.inf,
        # Numbers come after words.
        [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in local],
    )


class TorchVersion(str):
    """A text that is compared with texts and sequences of numbers as a version.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch.torch_version import TorchVersion
        >>> version = TorchVersion("2.13.0")
        >>> version >= "2.9", version > (2, 9), version == "2.13"
        (True, True, True)
    """

    __slots__ = ()
    __hash__ = str.__hash__

    def _compare(self, other: Any, compare: Callable[[Any, Any], bool], fallback: Any) -> Any:
        text = other
        if isinstance(other, Iterable) and not isinstance(other, str):
            text = ".".join(map(str, other))
        key, other_key = _key(self), _key(text) if isinstance(text, str) else None
        if key is None or other_key is None:
            return fallback(self, other)
        return compare(key, other_key)

    def __eq__(self, other: object) -> bool:
        return self._compare(other, operator.eq, str.__eq__)

    def __lt__(self, other: Any) -> bool:
        return self._compare(other, operator.lt, str.__lt__)

    def __le__(self, other: Any) -> bool:
        return self._compare(other, operator.le, str.__le__)

    def __gt__(self, other: Any) -> bool:
        return self._compare(other, operator.gt, str.__gt__)

    def __ge__(self, other: Any) -> bool:
        return self._compare(other, operator.ge, str.__ge__)


__version__ = TorchVersion(_version)

__all__ = ["TorchVersion"]
