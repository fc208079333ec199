"""Attributes that stay as the constructor sets them."""

from __future__ import annotations

from typing import Any, ClassVar


class FixedAttributes:
    """A base of classes some of whose attributes are not assigned later.

    Attributes:
        _fixed: their names.
    """

    _fixed: ClassVar[frozenset[str]] = frozenset()
    # The constructor is done. Loaders of users set it back while they assign, by PyTorch's name.
    _DataLoader__initialized = False

    def __setattr__(self, name: str, value: Any) -> None:
        if self._DataLoader__initialized and name in self._fixed:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized;"
                " make another one with the option"
            )
        super().__setattr__(name, value)
