"""Python objects of all processes: `oneflow.framework.check_point_v2`."""

from __future__ import annotations

from typing import Any

from oneflow.distributed.objects import broadcast_object_list


def broadcast_object(obj: Any, src: int = 0) -> Any:
    """The object of process `src`, on every process.

    Args:
        obj: the object on that process; elsewhere without meaning.
        src: its rank.

    Example:
        >>> from oneflow.framework.check_point_v2 import _broadcast_py_object
        >>> _broadcast_py_object({"step": 3})
        {'step': 3}
    """
    objects = [obj]
    broadcast_object_list(objects, src)
    return objects[0]


_broadcast_py_object = broadcast_object
