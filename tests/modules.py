"""All modules of the packages."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from types import ModuleType

# Packages of the extra `serving`, which not every environment has.
_OPTIONAL = ("aiohttp", "grpc", "prometheus_client")


def import_modules(packages: Iterable[ModuleType]) -> Iterator[ModuleType]:
    """Import and return every module of some packages, commands apart.

    Those that need a package of an extra are left out where it is not installed.
    """
    for package in packages:
        yield package
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if info.name.endswith("__main__"):
                continue
            try:
                yield importlib.import_module(info.name)
            except ModuleNotFoundError as error:
                if error.name not in _OPTIONAL:
                    raise
