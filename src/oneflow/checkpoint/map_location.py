"""`map_location`: the devices and shardings that the tensors of a file are restored to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from oneflow.base.device import Device
from oneflow.base.placement import DeviceOrSharding, Placement, Sharding
from oneflow.base.sbp import nd_sbp_of

Location = (
    str | Device | Placement | tuple[Placement, Any] | Mapping[Any, Any] | Callable[[Any], Any]
)
# Maps the device or sharding that a tensor was saved from to that which it is restored to. SBP of
# the latter may name dimensions that the tensor does not have, see `fit_sharding`.
RestoreLocation = Callable[[DeviceOrSharding], DeviceOrSharding]


def make_restore_location(location: Location | None) -> RestoreLocation:
    """Make the function that `map_location` describes.

    Raises:
        TypeError: `location` has an unsupported type.
        RuntimeError: a rank that it names does not exist.
    """
    if location is None:
        return lambda saved: saved
    if isinstance(location, Mapping):
        table = {
            _public_location(_parse_location(old)): _parse_new_location(new)
            for old, new in location.items()
        }
        return lambda saved: table.get(_public_location(saved), saved)
    if callable(location) and not isinstance(location, Placement | Sharding):
        _check_takes_one(location)
        return lambda saved: _call_map_location(location, _public_location(saved))
    target = _parse_new_location(location)
    return lambda saved: target


def _call_map_location(
    function: Callable[[Any], Any], saved: Device | Placement
) -> DeviceOrSharding:
    """Return what a user's function maps a saved device or placement to.

    Raises:
        RuntimeError: the function failed; not the file, although it is in the middle of loading.
    """
    try:
        location = function(saved)
        # An unchanged location may name missing devices, until somebody reads the values.
        return _parse_location(location) if location is saved else _parse_new_location(location)
    except Exception as error:
        raise RuntimeError(
            f"`map_location` returns no device or sharding for what was saved on {saved!r} "
            f"({type(error).__name__}: {error})"
        ) from error


def _check_takes_one(function: Callable) -> None:
    """Refuse PyTorch's functions of a storage and the name of its location."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return  # Some built-in functions have none to look at.
    try:
        signature.bind(None)
    except TypeError as error:
        raise TypeError(
            "a function given as `map_location` is called with one argument, the device or "
            f"placement that a tensor was saved from, and returns its new one ({error}); for "
            "`lambda storage, location: storage` of PyTorch give 'cpu'"
        ) from None


def _public_location(device: DeviceOrSharding) -> Device | Placement:
    """The device or placement that dicts and functions of users get."""
    return device.placement if isinstance(device, Sharding) else device


def _parse_location(location: Any) -> DeviceOrSharding:
    if isinstance(location, str | Device):
        return Device(location)
    if isinstance(location, Placement):
        return Sharding(location, location.broadcast)
    if isinstance(location, tuple) and len(location) == 2 and isinstance(location[0], Placement):
        return Sharding(location[0], nd_sbp_of(location[1], location[0].ndim))
    raise TypeError(
        "`map_location` must be a device, a placement, a pair of placement and sbp, a dict of "
        f"these or a function that returns one of them, got {location!r}"
    )


def _parse_new_location(map_location: Any) -> DeviceOrSharding:
    location = _parse_location(map_location)
    if isinstance(location, Sharding):
        location.placement.require_devices()
    return location
