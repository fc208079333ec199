"""Machines and ports of job functions: the names that `oneflow.env` has of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oneflow.legacy.config import ctrl_port, machine_num

data_port = ctrl_port


def machine(*val: Any) -> None:
    """Declare the machines of the program; it runs on the machine that starts it.

    Args:
        *val: a dict with the address `addr` of each machine, or a list of them.

    Raises:
        NotImplementedError: there are several; programs on several are started by the launcher.

    Example:
        >>> import oneflow as flow
        >>> flow.env.machine([{"addr": "127.0.0.1"}])
    """
    nodes = val[0] if len(val) == 1 and not isinstance(val[0], Mapping) else val
    machine_num(len(nodes))


def log_dir(val: str) -> None:
    """Accept the folder of logs: the launcher writes them, see its option `--logdir`.

    Example:
        >>> import oneflow as flow
        >>> flow.env.log_dir("log")
    """


def logtostderr(val: int) -> None:
    """Accept where logs go: messages are Python's warnings and errors.

    Example:
        >>> import oneflow as flow
        >>> flow.env.logtostderr(True)
    """


def logbuflevel(val: int) -> None:
    """Accept how logs are buffered: messages are Python's warnings and errors.

    Example:
        >>> import oneflow as flow
        >>> flow.env.logbuflevel(-1)
    """


def grpc_use_no_signal(val: bool = True) -> None:
    """Accept a setting of a library that is not used.

    Example:
        >>> import oneflow as flow
        >>> flow.env.grpc_use_no_signal()
    """
