"""Functions and classes as values, for processes that cannot import them: needs cloudpickle."""

from __future__ import annotations

import types
from typing import Any

import cloudpickle


class ByValuePickler(cloudpickle.Pickler):
    """cloudpickle's pickler, which records the objects that it takes from the user's script.

    Attributes:
        script_names: what the script defines and the pickle holds, by its name there.
        classes: all classes that the pickle holds, by module and name.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.script_names: dict[str, Any] = {}
        self.classes: dict[tuple[str, str], type] = {}

    def reducer_override(self, obj: Any) -> Any:
        """Return how an object is pickled, or NotImplemented for the usual way."""
        if isinstance(obj, type):
            self.classes[obj.__module__, obj.__qualname__] = obj
        if isinstance(obj, type | types.FunctionType) and obj.__module__ == "__main__":
            name = obj.__qualname__
            if name.isidentifier():
                self.script_names[name] = obj
        return super().reducer_override(obj)
