"""Hooks are filled exactly once, at the latest when they are needed."""

import gc
import sys

import pytest

import oneflow as flow
from oneflow.base.hook import Hook


def test_every_hook_has_a_provider():
    flow.plan  # noqa: B018 - the highest room
    # Objects that were set aside are not found.
    gc.unfreeze()
    hooks = [get_object for get_object in gc.get_objects() if type(get_object) is Hook]
    gc.freeze()
    assert hooks
    for hook in hooks:
        assert callable(hook.value) or isinstance(hook.value, tuple)
        assert hook._provider in sys.modules, hook._name


def test_hook_is_filled_once():
    hook = Hook("EXAMPLE", "oneflow.base.shape")
    with pytest.raises(RuntimeError, match=r"`EXAMPLE` is not filled, though `oneflow.base.shape`"):
        hook.value()
    with pytest.raises(AttributeError, match="no attribute `function`"):
        hook.function  # noqa: B018
    assert hook.fill(len) is len
    with pytest.raises(RuntimeError, match="`EXAMPLE` is filled already"):
        hook.fill(max)
    assert hook.value is len
