"""Imports every module of the packages; writes a JSON object with the errors of those that fail.

The arguments are names of other packages, which are hidden as if they were not installed.
"""

from __future__ import annotations

import importlib
import importlib.abc
import json
import pkgutil
import sys
from collections.abc import Collection, Iterator

PACKAGES = ("oneflow", "flowvision", "oneflow_onnx")
# They run when they are imported, or replace modules of the process.
NOT_IMPORTED = ("__main__", "oneflow.mock_torch.path")


class HiddenPackages(importlib.abc.MetaPathFinder):
    """Finds that packages are not installed."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names

    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def modules() -> Iterator[str]:
    """Yield the names of all modules, a package before what is in it."""
    for package in PACKAGES:
        yield package
        path = importlib.util.find_spec(package).submodule_search_locations
        folders = [(package, path)]
        while folders:
            parent, path = folders.pop()
            for info in pkgutil.iter_modules(path):
                name = f"{parent}.{info.name}"
                if any(part in name for part in NOT_IMPORTED):
                    continue
                yield name
                if info.ispkg:
                    folders.append((name, [f"{root}/{info.name}" for root in path]))


def main() -> None:
    sys.meta_path.insert(0, HiddenPackages(sys.argv[1:]))
    errors = {}
    for name in modules():
        try:
            importlib.import_module(name)
        except BaseException as error:
            errors[name] = f"{type(error).__name__}: {error}"
    sys.stdout.write(json.dumps(errors))


if __name__ == "__main__":
    main()
