"""Packages that require PyTorch, by what installed packages say of themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions

_NAME = re.compile(r"[\w.-]+")


@cache  # reading what hundreds of packages say takes a second
def dependents(package: str, libraries: tuple[str, ...] = ("torch",)) -> frozenset[str]:
    """Find the packages that must be imported anew with another PyTorch, for one package to be.

    Args:
        package: name by which the package is imported.
        libraries: names of the distributions that are exchanged.

    Returns:
        The package, and of those that it requires, directly or not, also as an extra, the ones
        that require one of the libraries; by the names by which they are imported.

    Example:
        >>> from oneflow.mock_torch.dependents import dependents
        >>> sorted(dependents("jax", ("jaxlib",)))
        ['jax']
    """
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
    affected: set[str] = set()
    pending = list(exchanged)
    while pending:
        new = users.get(pending.pop(), set()) - affected
        affected |= new
        pending += new
    return frozenset({package, *(name for user in affected for name in _import_names(user))})


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


def _import_names(name: str) -> list[str]:
    listed = (distribution(name).read_text("top_level.txt") or "").split()
    return listed or [name.replace("-", "_")]
