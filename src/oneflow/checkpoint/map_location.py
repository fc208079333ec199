"""`map_location`: where the tensors of a file go."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from oneflow.base.device import Device
from oneflow.base.placement import Layout, Placement
from oneflow.base.sbp import BROADCAST, Sbp, Split, nd_sbp_of, split

# Of a layout the SBP may name dimensions that a tensor does not have, see `fitting`.
Place = Device | Layout
Location = (
    str | Device | Placement | tuple[Placement, Any] | Mapping[Any, Any] | Callable[[Any], Any]
)


def place_function(location: Location | None) -> Callable[[Place], Place]:
    """A function from where tensors were saved to where they go.

    Raises:
        TypeError: `location` is nothing of what it may be.
    """
    if location is None:
        return lambda saved: saved
    if isinstance(location, Mapping):
        table = {_named(_one_place(old)): _one_place(new) for old, new in location.items()}
        return lambda saved: table.get(_named(saved), saved)
    if callable(location) and not isinstance(location, Placement | Layout):
        _check_takes_one(location)
        return lambda saved: _place_by(location, _named(saved))
    chosen = _one_place(location)
    return lambda saved: chosen


def _place_by(function: Callable[[Any], Any], saved: Device | Placement) -> Place:
    """Where a user's function puts what was saved there.

    Raises:
        RuntimeError: the function failed; not the file, although it is in the middle of loading.
    """
    try:
        return _one_place(function(saved))
    except Exception as error:
        raise RuntimeError(
            f"`map_location` gives no place for what was saved on {saved!r} "
            f"({type(error).__name__}: {error})"
        ) from error


def _check_takes_one(function: Callable) -> None:
    """Refuse PyTorch's functions of a storage and the name of its place."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return  # Some built-in functions have none to look at.
    try:
        signature.bind(None)
    except TypeError as error:
        raise TypeError(
            "a function given as `map_location` is called with one argument, the device or "
            f"placement that a tensor was saved from, and returns where it goes ({error}); for "
            "`lambda storage, location: storage` of PyTorch give 'cpu'"
        ) from None


def _named(place: Place) -> Device | Placement:
    """A place as users name it, in dicts and as what their functions get."""
    return place.placement if isinstance(place, Layout) else place


def _one_place(given: Any) -> Place:
    if isinstance(given, str | Device):
        return Device(given)
    if isinstance(given, Placement):
        return Layout(given, given.broadcast)
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], Placement):
        return Layout(given[0], nd_sbp_of(given[1], given[0].ndim))
    raise TypeError(
        "`map_location` must be a device, a placement, a pair of placement and sbp, a dict of "
        f"these or a function that returns one of them, got {given!r}"
    )


def fitting(layout: Layout, ndim: int) -> Layout:
    """A layout for a tensor of `ndim` dimensions: broadcast where it would split another one."""
    return Layout(layout.placement, tuple([_fitting(each, ndim) for each in layout.sbp]))


def _fitting(sbp: Sbp, ndim: int) -> Sbp:
    if not isinstance(sbp, Split):
        return sbp
    return split(sbp.dim % ndim) if -ndim <= sbp.dim < ndim else BROADCAST
