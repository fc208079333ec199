"""Names of modules that come from packages, which differ from those of all other modules."""

from __future__ import annotations

import itertools
import re

_numbers = itertools.count()
_PREFIX = re.compile(r"<torch_package_\d+>")


class PackageMangler:
    """Names in one package, with a prefix that no other package has.

    Example:
        >>> from oneflow.mock_torch.pytorch.package import _mangling
        >>> mangler = _mangling.PackageMangler()
        >>> _mangling.demangle(mangler.mangle("model.layers"))
        'model.layers'
    """

    def __init__(self) -> None:
        self._parent = f"<torch_package_{next(_numbers)}>"

    def mangle(self, name: str) -> str:
        """Return a name with the prefix.

        Raises:
            AssertionError: it is empty.
        """
        if not name:
            raise AssertionError("`name` must not be empty")
        return f"{self._parent}.{name}"

    def demangle(self, mangled: str) -> str:
        """Return a name without the prefix of this package; others stay as they are."""
        return mangled.removeprefix(self._parent + ".")

    def parent_name(self) -> str:
        """Return the prefix."""
        return self._parent


def is_mangled(name: str) -> bool:
    """Return whether a name has the prefix of some package."""
    return _PREFIX.match(name) is not None


def demangle(name: str) -> str:
    """Return a name without the prefix of any package; the prefix alone gives an empty name."""
    return name.partition(".")[2] if is_mangled(name) else name


def get_mangle_prefix(name: str) -> str:
    """Return the prefix of a name; a name without one is returned whole."""
    return name.partition(".")[0] if is_mangled(name) else name
