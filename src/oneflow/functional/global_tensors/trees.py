"""Global tensors in lists, tuples and dicts, and a mode in which new tensors are global."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from oneflow.base import cluster
from oneflow.base.hook import Hook
from oneflow.base.placement import Placement
from oneflow.base.sbp import Sbp, SbpLike
from oneflow.functional.creation.factory_functions import empty
from oneflow.functional.creation.options import MODE, make_sharding
from oneflow.functional.global_tensors import conversion as global_tensors
from oneflow.functional.registry import function
from oneflow.tensor.tensor import Tensor

# The object that one process of the job has, on all of them.
FIRST_OBJECT: Hook[Callable[[Any, int], Any]] = Hook("FIRST_OBJECT", "oneflow.distributed.objects")

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


@function(method=False, also=("utils.global_view.to_global",))
def to_global(
    input: Any,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    warn_on_non_tensor_leaf: bool = True,
    **options: Any,
) -> Any:
    """`Tensor.to_global` of a tensor, or of all tensors in lists, tuples and dicts.

    If `placement` holds only some ranks of a job, its first rank tells the others the structure of
    its local tensors, so that those outside can pass anything, such as None: what a file holds is
    read on one rank. Their results have None for all that is neither a tensor nor a number or text.

    Args:
        input: a tensor, or a structure such as a state dict.
        placement: the placement of the results.
        sbp: the SBP of the results; or a function that takes the whole `input` and the tensor, and
            tells it.
        warn_on_non_tensor_leaf: warn about anything else in the structure, which stays as it is.
        options: further arguments of `Tensor.to_global`.

    Returns:
        The same structure of global tensors.

    Raises:
        TypeError: the other ranks cannot be told the structure, since the class of a container in
            it cannot be pickled.

    Example:
        >>> import oneflow as flow
        >>> state = flow.nn.Linear(4, 2).state_dict()
        >>> placement, sbp = flow.placement("cpu", [0]), flow.sbp.broadcast
        >>> {name: each.is_global for name, each in flow.to_global(state, placement, sbp).items()}
        {'weight': True, 'bias': True}
        >>> def rows_of_weights(state, tensor):
        ...     return flow.sbp.split(0) if tensor is state["weight"] else flow.sbp.broadcast
        >>> flow.to_global(state, placement, rows_of_weights)["weight"].sbp
        (oneflow.sbp.split(dim=0),)
    """
    if placement is not None:
        input = _known_outside(input, placement)

    def convert(tensor: Tensor) -> Tensor:
        target_sbp = sbp(input, tensor) if callable(sbp) and not isinstance(sbp, Sbp) else sbp
        return global_tensors.to_global(tensor, placement, target_sbp, **options)

    return _converted(input, convert, warn_on_non_tensor_leaf)


@function(method=False, also=("utils.global_view.to_local",))
def to_local(input: Any, *, copy: bool = False) -> Any:
    """`Tensor.to_local` of a tensor, or of all tensors in lists, tuples and dicts.

    Args:
        input: a tensor, or a structure such as a state dict; local tensors stay as they are.
        copy: give every part memory of its own, which it has in any case.

    Returns:
        The same structure of local tensors.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2, placement=flow.placement("cpu", [0]), sbp=flow.sbp.broadcast)
        >>> flow.to_local({"x": x})
        {'x': tensor([1., 1.], dtype=oneflow.float32)}
    """

    def convert(tensor: Tensor) -> Tensor:
        return global_tensors.to_local(tensor, copy=copy) if tensor.is_global else tensor

    return _converted(input, convert, True)


def _known_outside(value: Any, placement: Placement) -> Any:
    """`value`; on ranks outside `placement`, the structure of its first rank with empty tensors."""
    has_all_ranks = len(set(placement.flat)) == cluster.world_size()
    if has_all_ranks or not cluster.is_multiprocess() or _has_global_tensors(value):
        return value
    first = placement.flat[0]
    structure = FIRST_OBJECT.value(_structure(value) if cluster.rank() == first else None, first)
    if isinstance(structure, str):
        raise TypeError(
            f"`to_global` cannot tell other ranks the structure of `input` on rank {first}: "
            f"{structure}. Give the containers classes that `pickle` takes, such as dict and list"
        )
    return value if placement.includes_this_process else pickle.loads(structure)


def _structure(value: Any) -> bytes | str:
    """The pickled structure of `value`, or why it has none, which all ranks must be told."""
    try:
        return pickle.dumps(_converted(value, lambda tensor: empty(0), False, _plain))
    except Exception as error:  # of any class of containers
        return f"{type(error).__name__}: {error}"


def _plain(value: Any) -> Any:
    return value if type(value) in _PLAIN else None


def _has_global_tensors(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.is_global
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, list | tuple) and any(map(_has_global_tensors, value))


def _converted(
    value: Any,
    convert: Callable[[Tensor], Tensor],
    warn: bool,
    convert_other: Callable[[Any], Any] = lambda value: value,
) -> Any:
    """`value` with its tensors converted, and the other leaves by `convert_other`."""
    if isinstance(value, Tensor):
        return convert(value)
    convert_item = partial(_converted, convert=convert, warn=warn, convert_other=convert_other)
    if isinstance(value, dict):
        converted = {key: convert_item(item) for key, item in value.items()}
        return converted if type(value) is dict else type(value)(converted)
    if isinstance(value, list | tuple):
        items = [convert_item(item) for item in value]
        if hasattr(value, "_fields"):
            return type(value)(*items)
        return type(value)(items)
    if warn and not isinstance(value, _PLAIN):
        warnings.warn(
            f"a {type(value).__name__} is no tensor, list, tuple or dict; it stays as it is",
            stacklevel=4,
        )
    return convert_other(value)


class global_mode:
    """Context manager: new tensors are global.

    Tensors that are made without a placement, by `oneflow.tensor`, `oneflow.zeros`, `oneflow.randn`
    and so on, are placed on this one; a `device` that is given there counts no more.

    Args:
        enabled: False makes new tensors local again.
        placement: the placement of new tensors.
        sbp: the SBP of new tensors.

    Raises:
        ValueError: it is enabled without a placement or sbp.

    Example:
        >>> import oneflow as flow
        >>> placement = flow.placement("cpu", [0])
        >>> with flow.utils.global_view.global_mode(True, placement, flow.sbp.broadcast):
        ...     flow.zeros(2, 3).is_global
        True
    """

    def __init__(
        self, enabled: bool, placement: Placement | None = None, sbp: SbpLike | None = None
    ) -> None:
        self._sharding = make_sharding(placement, sbp) if enabled else None
        self._before: list[Any] = []

    def __enter__(self) -> global_mode:
        self._before.append(MODE.sharding)
        MODE.sharding = self._sharding
        return self

    def __exit__(self, *exception: object) -> None:
        MODE.sharding = self._before.pop()


class current_global_mode:
    """The settings of the innermost `global_mode`.

    Attributes:
        is_enabled: whether new tensors are global.
        placement: the placement of new tensors; None if they are local.
        sbp: the SBP of new tensors.

    Example:
        >>> import oneflow as flow
        >>> flow.utils.global_view.current_global_mode().is_enabled
        False
    """

    def __init__(self) -> None:
        sharding = MODE.sharding
        self.is_enabled = sharding is not None
        self.placement = None if sharding is None else sharding.placement
        self.sbp = None if sharding is None else sharding.sbp
