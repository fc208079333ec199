"""Pipes of samples: iterable data sets that others read from, by methods registered by name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, TypeVar

from oneflow.data.dataset import Dataset, IterableDataset, T_co
from oneflow.data.pipe_iterators import SnapshotState, guard_next, guard_reset, single_iterator

Item = TypeVar("Item")
Pipe = TypeVar("Pipe", bound="type[_Pipe]")


class DataChunk(list[Item]):
    """A batch of samples as pipes make it: a list.

    Attributes:
        items: the samples.

    Example:
        >>> from oneflow.data.datapipes import DataChunk
        >>> DataChunk(range(2)).as_str(indent="  ")
        '  [0, 1]'
    """

    def __init__(self, items: Iterable[Item]) -> None:
        self.items = list(items)
        super().__init__(self.items)

    def as_str(self, indent: str = "") -> str:
        """Return the samples' texts in brackets, after an indent."""
        return f"{indent}[{', '.join(map(str, self))}]"

    def raw_iterator(self) -> Iterator[Item]:
        """Return an iterator over the parts as they came, which subclasses may show otherwise."""
        return iter(self.items)


class _Pipe:
    """Methods registered by name and hooks of pickling, which pipes of both kinds have."""

    functions: ClassVar[dict[str, Callable[..., Any]]]
    reduce_ex_hook: ClassVar[Callable[..., Any] | None] = None
    getstate_hook: ClassVar[Callable[..., Any] | None] = None
    str_hook: ClassVar[Callable[..., str] | None] = None
    repr_hook: ClassVar[Callable[..., str] | None] = None

    def __getattr__(self, attribute_name: str) -> Any:
        function = type(self).functions.get(attribute_name)
        if function is None:
            raise AttributeError(
                f"'{type(self).__name__}' object has no attribute '{attribute_name}', and no pipe "
                "is registered under that name"
            )
        method = functools.partial(function, self)
        functools.update_wrapper(method, function, assigned=("__doc__",), updated=())
        return method

    @classmethod
    def _kind(cls) -> type[_Pipe]:
        """Return the class of pipes whose functions and hooks these are."""
        return next(kind for kind in cls.__mro__ if "functions" in vars(kind))

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Make a function a method of all pipes of this kind."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: type, enable_df_api_tracing: bool = False
    ) -> None:
        """Make a method of all pipes of this kind that constructs a pipe reading from them.

        Args:
            function_name: name of the method.
            cls_to_register: the pipe; its constructor gets the source, then the arguments.
            enable_df_api_tracing: accepted; nothing is traced here.

        Raises:
            Exception: the name is taken.
        """
        if function_name in cls.functions:
            raise Exception(
                f"Unable to add DataPipe function name {function_name} as it is already taken"
            )
        cls.functions[function_name] = cls_to_register

    @classmethod
    def _set_hook(cls, name: str, hook: Callable[..., Any] | None) -> None:
        kind = cls._kind()
        if getattr(kind, name) is not None and hook is not None:
            raise RuntimeError(f"Attempt to override existing {name}")
        setattr(kind, name, hook)

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Callable[..., Any] | None) -> None:
        """Set the function that pickles pipes; None resets it.

        Raises:
            RuntimeError: there is a hook already.
        """
        cls._set_hook("reduce_ex_hook", hook_fn)

    @classmethod
    def set_getstate_hook(cls, hook_fn: Callable[..., Any] | None) -> None:
        """Set the function that says which part of a pipe's state is pickled; None resets it.

        Raises:
            RuntimeError: there is a hook already.
        """
        cls._set_hook("getstate_hook", hook_fn)

    @classmethod
    def pickled_state(cls, state: Any) -> Any:
        """Return a state, or what the hook makes of it; for pipes with their own `__getstate__`."""
        hook = cls._kind().getstate_hook
        return state if hook is None else hook(state)

    def __getstate__(self) -> Any:
        return self.pickled_state(vars(self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        hook = self._kind().reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                return super().__reduce_ex__(protocol)
        return super().__reduce_ex__(protocol)

    def __repr__(self) -> str:
        hook = self._kind().repr_hook
        return type(self).__qualname__ if hook is None else hook(self)

    def __str__(self) -> str:
        hook = self._kind().str_hook
        return type(self).__qualname__ if hook is None else hook(self)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]


class IterDataPipe(_Pipe, IterableDataset[T_co]):
    """An iterable data set with methods that make further ones of it.

    There is one iterator at a time: making another ends those before it, and calls `reset`.

    Attributes:
        functions: what the methods call, by name.
        reduce_ex_hook: called with a pipe that is pickled; if it raises NotImplementedError the
            pipe is pickled as usual.

    Example:
        >>> import oneflow as flow
        >>> class Numbers(flow.utils.data.IterDataPipe):
        ...     def __iter__(self):
        ...         return iter(range(3))
        >>> @flow.utils.data.functional_datapipe("times")
        ... class Times(flow.utils.data.IterDataPipe):
        ...     def __init__(self, source, factor):
        ...         self.source, self.factor = source, factor
        ...
        ...     def __iter__(self):
        ...         return (self.factor * number for number in self.source)
        >>> list(Numbers().times(10))
        [0, 10, 20]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
    _valid_iterator_id: int | None = None
    _number_of_samples_yielded: int = 0
    _snapshot_state: SnapshotState = SnapshotState.NotStarted
    _fast_forward_iterator: Iterator[Any] | None = None

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        members = vars(cls)
        if "reset" in members:
            cls.reset = guard_reset(members["reset"])  # type: ignore[method-assign]
        if "__iter__" in members:
            has_next = "__next__" in members
            if has_next:
                cls.__next__ = guard_next(members["__next__"])  # type: ignore[attr-defined]
            wrapped = single_iterator(members["__iter__"], has_next)
            cls.__iter__ = wrapped  # type: ignore[method-assign]

    def __iter__(self) -> Iterator[T_co]:
        return self  # type: ignore[return-value]

    @guard_reset
    def reset(self) -> None:
        """Begin anew; pipes that keep something forget it here. Called by each new iterator."""


class DFIterDataPipe(IterDataPipe[T_co]):
    """A pipe of data frames."""

    def _is_dfpipe(self) -> bool:
        return True


class MapDataPipe(_Pipe, Dataset[T_co]):
    """A data set of samples by key, with methods that make further ones of it.

    Example:
        >>> from oneflow.data.datapipes import MapDataPipe
        >>> class Squares(MapDataPipe):
        ...     def __getitem__(self, number):
        ...         return number**2
        >>> Squares()[3]
        9
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


class functional_datapipe:
    """Decorator of a pipe that makes it a method of all pipes; see `IterDataPipe`.

    Args:
        name: the name of the method.
        enable_df_api_tracing: accepted; nothing is traced here.

    Raises:
        TypeError: what is decorated is neither an `IterDataPipe` nor a `MapDataPipe`.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.data import IterDataPipe, functional_datapipe
        >>> @functional_datapipe("doubled_example")
        ... class Doubled(IterDataPipe):
        ...     def __init__(self, source):
        ...         self.source = source
        ...     def __iter__(self):
        ...         return (2 * sample for sample in self.source)
        >>> class Count(IterDataPipe):
        ...     def __iter__(self):
        ...         return iter(range(3))
        >>> list(Count().doubled_example())
        [0, 2, 4]
        >>> del IterDataPipe.functions["doubled_example"]
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name, self.enable_df_api_tracing = name, enable_df_api_tracing

    def __call__(self, cls: Pipe) -> Pipe:
        """Register the pipe, and return it."""
        if not (isinstance(cls, type) and issubclass(cls, _Pipe)):
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe or MapDataPipe")
        cls.register_datapipe_as_function(
            self.name, cls, enable_df_api_tracing=self.enable_df_api_tracing
        )
        return cls


_GUARANTEED = [False]


class guaranteed_datapipes_determinism:
    """Context in which pipes that are marked `non_deterministic` cannot be made.

    Attributes:
        prev: whether that was so outside.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.data import IterDataPipe, guaranteed_datapipes_determinism
        >>> class Count(IterDataPipe):
        ...     def __iter__(self):
        ...         return iter(range(3))
        >>> with guaranteed_datapipes_determinism():
        ...     print(list(Count()))
        [0, 1, 2]
    """

    def __init__(self) -> None:
        self.prev = _GUARANTEED[0]

    def __enter__(self) -> None:
        self.prev = _GUARANTEED[0]
        _GUARANTEED[0] = True

    def __exit__(self, *error: Any) -> None:
        _GUARANTEED[0] = self.prev


class non_deterministic:
    """Decorator of a pipe whose order is not the same each time.

    Args:
        arg: the pipe; or a function that gets the arguments of a pipe and says whether it is so.

    Raises:
        TypeError: neither of them; or such a pipe is made under `guaranteed_datapipes_determinism`.

    Example:
        >>> import oneflow as flow
        >>> @flow.utils.data.non_deterministic
        ... class Shuffled(flow.utils.data.IterDataPipe):
        ...     pass
        >>> with flow.utils.data.guaranteed_datapipes_determinism():
        ...     Shuffled()
        Traceback (most recent call last):
        TypeError: Shuffled is non-deterministic, but you set 'guaranteed_datapipes_determinism'.
    """

    cls: type[IterDataPipe[Any]] | None = None

    def __init__(self, arg: type[IterDataPipe[Any]] | Callable[..., bool]) -> None:
        if isinstance(arg, type):
            if not issubclass(arg, IterDataPipe):
                raise TypeError(
                    "Only `IterDataPipe` can be decorated with `non_deterministic`, but "
                    f"{arg.__name__} is found"
                )
            self.cls = arg
        elif not callable(arg):
            raise TypeError(f"{arg} can not be decorated by non_deterministic")
        self.deterministic_fn = arg

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Make the pipe; or, of a function, decorate the pipe that is given."""
        if self.cls is not None:
            self._raise_if_guaranteed(self.cls)
            return self.cls(*args, **kwargs)
        (cls,) = args
        if not (isinstance(cls, type) and issubclass(cls, IterDataPipe)):
            raise TypeError(f"Only `IterDataPipe` can be decorated, but {cls} is found")
        self.cls = cls
        return self.deterministic_wrapper_fn

    def deterministic_wrapper_fn(self, *args: Any, **kwargs: Any) -> IterDataPipe[Any]:
        """Make the pipe, if its arguments are allowed."""
        assert self.cls is not None
        is_random = self.deterministic_fn(*args, **kwargs)
        if not isinstance(is_random, bool):
            raise TypeError(
                "deterministic_fn of `non_deterministic` decorator is required to return a boolean "
                f"value, but {type(is_random)} is found"
            )
        if is_random:
            self._raise_if_guaranteed(self.cls)
        return self.cls(*args, **kwargs)

    def _raise_if_guaranteed(self, cls: type) -> None:
        if _GUARANTEED[0]:
            raise TypeError(
                f"{cls.__name__} is non-deterministic, but you set "
                "'guaranteed_datapipes_determinism'. You can turn off determinism for this "
                "DataPipe if that is acceptable for your application"
            )
