"""Objects in the place of modules that a package does not have; packages hold a copy of this."""

from __future__ import annotations

from typing import Any


class MockedObject:
    """An object of a module that was left out; whatever uses it fails.

    Args:
        name: of the object.
        _suppress_err: whether making it is no error.

    Raises:
        NotImplementedError: it is made or used.
    """

    _name: str

    def __new__(cls, *args: Any, **kwargs: Any) -> MockedObject:
        if not kwargs.get("_suppress_err"):
            raise NotImplementedError(
                f"{cls} is of a module that was mocked out when the package was made: it cannot be "
                "used (and a pickle must not have it)"
            )
        return super().__new__(cls)

    def __init__(self, name: str, _suppress_err: bool) -> None:
        self.__dict__["_name"] = name

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"`{self._name}` was mocked out when the package was made: it cannot be used"
        )

    def __getattr__(self, name: str) -> Any:
        # Members of Python's own protocols are absent, so that the object can be looked at.
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return MockedObject(f"{self._name}.{name}", _suppress_err=True)

    __call__ = __setattr__ = __delattr__ = __getitem__ = __setitem__ = __iter__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _refuse
    __len__ = __contains__ = __lt__ = __le__ = __gt__ = __ge__ = __enter__ = __exit__ = _refuse
