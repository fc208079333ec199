"""Plain data of the standard library, sparse and nested tensors, as files hold them.

Each is described by containers of the files' own kinds, and is made anew from these.
"""

from __future__ import annotations

import argparse
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any

from oneflow.nested.tensor import (
    NestedTensor,
    described as described_nested,
    rebuild as rebuild_nested,
)
from oneflow.sparse.tensor import SparseTensor, described, rebuild

FACTORIES: dict[str, Callable[[], Any]] = {
    factory.__name__: factory
    for factory in (bool, dict, float, int, list, set, str, tuple, OrderedDict)
}
NAMESPACES = (argparse.Namespace, types.SimpleNamespace)
# The classes of paths by their names in pickles: one of another system is read as a name only.
PATHS: dict[str, type[PurePath]] = {
    "Path": Path,
    "PosixPath": Path,
    "PurePath": PurePath,
    "PurePosixPath": PurePosixPath,
    "PureWindowsPath": PureWindowsPath,
    "WindowsPath": PureWindowsPath,
}


@dataclass(frozen=True)
class PlainKind:
    """One kind of object.

    Attributes:
        name: in files.
        type: the class, of which instances of subclasses are not.
        describe: returns containers, numbers and text.
        make: returns the object that these describe.
    """

    name: str
    type: type
    describe: Callable[[Any], Any]
    make: Callable[[Any], Any]


def counter_of(counts: Any = ()) -> Counter:
    """A counter, which is made of counts alone: of text it would count the letters."""
    if not isinstance(counts, dict):
        raise ValueError(f"a Counter is made of a {type(counts).__name__}")
    return Counter(counts)


def default_dict_of(name: str | None, pairs: dict) -> defaultdict:
    """A dict with the factory of that name."""
    return defaultdict(None if name is None else FACTORIES[name], pairs)


def _factory_name(value: defaultdict) -> str | None:
    factory = value.default_factory
    if factory is None:
        return None
    name = next((name for name, candidate in FACTORIES.items() if candidate is factory), None)
    if name is None:
        raise TypeError(
            f"cannot save a defaultdict whose factory is {factory!r}: it is code; save "
            "`dict(...)` of it"
        )
    return name


KINDS = (
    PlainKind("counter", Counter, dict, counter_of),
    PlainKind(
        "default_dict",
        defaultdict,
        lambda value: [_factory_name(value), dict(value)],
        lambda data: default_dict_of(*data),
    ),
    PlainKind(
        "deque",
        deque,
        lambda value: [list(value), value.maxlen],
        lambda data: deque(data[0], data[1]),
    ),
    PlainKind(
        "range",
        range,
        lambda value: [value.start, value.stop, value.step],
        lambda data: range(*data),
    ),
    PlainKind("namespace", argparse.Namespace, vars, lambda data: argparse.Namespace(**data)),
    PlainKind(
        "simple_namespace",
        types.SimpleNamespace,
        vars,
        lambda data: types.SimpleNamespace(**data),
    ),
    PlainKind("sparse", SparseTensor, described, lambda data: rebuild(*data)),
    PlainKind("nested", NestedTensor, described_nested, lambda data: rebuild_nested(*data)),
    *(
        PlainKind(kind.__name__, type(kind()), str, kind)
        for kind in (Path, PurePosixPath, PureWindowsPath)
    ),
)
KIND_OF_TYPE = {kind.type: kind for kind in KINDS}
KIND_NAMED = {kind.name: kind for kind in KINDS}
