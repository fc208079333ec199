"""A count of changes to what users may change between the calls of a recorded step."""

from __future__ import annotations


class ChangeCount:
    """A number that grows with every change of a kind, so that nobody looks for changes in vain.

    Attributes:
        value: the number. What has changed is visible before it grows.
    """

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


# Of the attributes of modules and graphs, and of the hooks of tensors.
CHANGES = ChangeCount()
