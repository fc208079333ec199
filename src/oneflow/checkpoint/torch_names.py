"""Names of classes and functions in PyTorch's pickles, and the objects here that they mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from oneflow.base.hook import Hook


class PyTorchNames(NamedTuple):
    """The functions that look names up, which the room in PyTorch's place provides.

    Attributes:
        name_of: returns module and name in PyTorch of an object of this package; None for others.
        object_named: returns what a module and a name of PyTorch stand for here.
    """

    name_of: Callable[[Any], tuple[str, str] | None]
    object_named: Callable[[str, str], Any]


PYTORCH_NAMES: Hook[PyTorchNames] = Hook("PYTORCH_NAMES", "oneflow.mock_torch.pytorch_names")


@dataclass(frozen=True)
class TorchName:
    """A name that a pickle for PyTorch holds in the place of an object of this package.

    Attributes:
        module: a module of PyTorch.
        name: within it.
    """

    module: str
    name: str

    def __call__(self, *arguments: Any) -> Any:
        """Refuse to be called: picklers only ask whether it could be.

        Raises:
            TypeError: always.
        """
        raise TypeError(f"`{self.module}.{self.name}` is only a name here")


def is_of_pytorch(module: str) -> bool:
    """Return whether a module that a pickle names is one of PyTorch's."""
    return module.partition(".")[0] in ("torch", "functorch")
