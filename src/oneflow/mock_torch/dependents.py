"""Packages that require PyTorch, by what they say of themselves and by what they hold."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Set as AbstractSet
from functools import cache
from importlib.machinery import ExtensionFileLoader
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from types import FunctionType, ModuleType
from typing import Any

_NAME = re.compile(r"[\w.-]+")


@cache  # reading what hundreds of packages say takes a second
def dependents(package: str, libraries: tuple[str, ...] = ("torch",)) -> frozenset[str]:
    """Find the packages that must be imported again with a package that is held twice.

    Args:
        package: name by which the package is imported.
        libraries: names of the distributions that are exchanged.

    Returns:
        The package, and of those that it requires, directly or not, also as an extra, the ones
        that require one of the libraries; by the names by which they are imported.

    Raises:
        ValueError: `package` is no name of a package.

    Example:
        >>> from oneflow.mock_torch.dependents import dependents
        >>> sorted(dependents("jax", ("jaxlib",)))
        ['jax']
    """
    if not package or "." in package:
        raise ValueError(
            f"`main_pkg` must be the name of a package, such as 'diffusers', got {package!r}"
        )
    exchanged = {_normalize(name) for name in libraries}
    users: dict[str, set[str]] = {}
    pending = list(_distributions_of(package))
    seen = set(pending)
    while pending:
        user = pending.pop()
        for requirement in _requirements(user):
            users.setdefault(requirement, set()).add(user)
            if requirement not in seen and requirement not in exchanged:
                seen.add(requirement)
                pending.append(requirement)
    selected: set[str] = set()
    pending = list(exchanged)
    while pending:
        new = users.get(pending.pop(), set()) - selected
        selected |= new
        pending += new
    return frozenset({package, *_import_names(selected)})


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _distributions_of(package: str) -> Iterator[str]:
    """Yield the distributions that install a package; most are called as it is."""
    try:
        yield _normalize(distribution(package).name)
    except PackageNotFoundError:
        yield from map(_normalize, packages_distributions().get(package, ()))


def _requirements(name: str) -> Iterator[str]:
    try:
        requirements = distribution(name).requires or ()
    except PackageNotFoundError:
        return
    for requirement in requirements:
        match = _NAME.match(requirement)
        if match:
            yield _normalize(match.group())


def _import_names(distributions: set[str]) -> Iterator[str]:
    installed: set[str] = set()
    for package, names in packages_distributions().items():
        owners = distributions & {_normalize(name) for name in names}
        if owners:
            installed |= owners
            yield package
    for name in distributions - installed:
        yield name.replace("-", "_")


def package_of(name: str) -> str:
    """Return the outermost package of a module."""
    return name.partition(".")[0]


def home_of(value: Any) -> str:
    """Return the name of a module, or of the one that defines a class, a function or an object."""
    kind = type(value)  # objects may raise errors when they are asked what they are
    if issubclass(kind, ModuleType):
        return str(value.__name__)
    home = value if issubclass(kind, type | FunctionType) else kind
    return str(home.__module__)


def modules_on_pytorch(packages: AbstractSet[str], is_pytorch: Callable[[Any], bool]) -> list[str]:
    """Return the names of the modules of those packages that hold something of PyTorch.

    Packages that hold something of such a package count, too. Extension modules are left out: many
    cannot be imported twice.

    Args:
        packages: names of packages.
        is_pytorch: tells if a value in a module is PyTorch's.
    """
    modules = [
        (name, module)
        for name, module in sys.modules.copy().items()
        if package_of(name) in packages
    ]
    selected: set[str] = set()
    users: dict[str, set[str]] = {}
    for name, module in modules:
        for value in list(getattr(module, "__dict__", {}).values()):
            users.setdefault(package_of(home_of(value)), set()).add(package_of(name))
            if is_pytorch(value):
                selected.add(package_of(name))
    pending = list(selected)
    while pending:
        new = users.get(pending.pop(), set()) - selected
        selected |= new
        pending += new
    return [
        name
        for name, module in modules
        if package_of(name) in selected and not _is_extension(module)
    ]


def extensions_in(package: str) -> dict[str, ModuleType]:
    """Return the extension modules directly in a package that are imported, by their last name."""
    return {
        name.rpartition(".")[2]: module
        for name, module in sys.modules.copy().items()
        if name.rpartition(".")[0] == package and _is_extension(module)
    }


def _is_extension(module: Any) -> bool:
    return isinstance(getattr(module, "__loader__", None), ExtensionFileLoader)
