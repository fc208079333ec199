"""Test cases that say how many machines and devices they need: `oneflow.unittest`."""

from __future__ import annotations

import functools
import os
import unittest
from collections.abc import Callable
from typing import Any

from oneflow.base import cluster
from oneflow.base.environment import TEST_DATA, TEST_DEVICES, TEST_NODES
from oneflow.distributed.ranks import get_node_size
from oneflow.legacy.session import clear_default_session


class TestCase(unittest.TestCase):
    """A test case of Python's `unittest`; each of its tests defines its own job functions.

    Example:
        >>> import oneflow as flow
        >>> import oneflow.unittest
        >>> class TestSum(flow.unittest.TestCase):
        ...     @flow.unittest.skip_unless_1n1d()
        ...     def test_sum(self):
        ...         self.assertEqual(flow.ones(3).sum().item(), 3)
    """

    # Pytest collects classes by this name where they are imported.
    __test__ = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__test__ = True

    def setUp(self) -> None:
        """Forget the job functions of earlier tests."""
        clear_default_session()


def node_size() -> int:
    """The number of machines that tests run on.

    Example:
        >>> import oneflow.unittest
        >>> oneflow.unittest.node_size()
        1
    """
    return int(TEST_NODES.read() or get_node_size())


def device_num() -> int:
    """The number of devices of each machine: one per process of the job.

    Example:
        >>> import oneflow.unittest
        >>> oneflow.unittest.device_num()
        1
    """
    return int(TEST_DEVICES.read() or cluster.world_size() // get_node_size())


def dataset_dir(sub_dir: str | None = None) -> str:
    """The folder of data sets that tests read, or one within it.

    `ONEFLOW_TEST_DATASET_DIR` says where it is.

    Args:
        sub_dir: a path within it.

    Example:
        >>> import oneflow.unittest
        >>> oneflow.unittest.dataset_dir("mnist")
        '/dataset/mnist'
    """
    return TEST_DATA.read() if sub_dir is None else os.path.join(TEST_DATA.read(), sub_dir)


def skip_unless(n: int, d: int) -> Callable[[Any], Any]:
    """Skip a test, or a class of tests, on other numbers of machines and devices.

    Args:
        n: number of machines.
        d: number of devices of each machine.

    Returns:
        The decorator.

    Example:
        >>> import oneflow.unittest
        >>> @oneflow.unittest.skip_unless(1, 4)
        ... def test_four_ranks():
        ...     raise AssertionError("this job has one rank")
    """
    if (node_size(), device_num()) == (n, d):
        return lambda test: test
    return unittest.skip(
        f"needs {n} machines with {d} devices each, here are {node_size()} with {device_num()}"
    )


skip_unless_1n1d = functools.partial(skip_unless, 1, 1)
skip_unless_1n2d = functools.partial(skip_unless, 1, 2)
skip_unless_1n4d = functools.partial(skip_unless, 1, 4)
skip_unless_2n1d = functools.partial(skip_unless, 2, 1)
skip_unless_2n2d = functools.partial(skip_unless, 2, 2)
skip_unless_2n4d = functools.partial(skip_unless, 2, 4)
