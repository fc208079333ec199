"""Tensors and JAX arrays share their memory, sharded ones too."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import oneflow as flow
from oneflow import sbp

GRID = [[0, 1], [2, 3]]


def addresses(array: jax.Array) -> list[int]:
    return [
        addressable_shard.data.unsafe_buffer_pointer()
        for addressable_shard in array.addressable_shards
    ]


def test_trees_of_tensors_and_back():
    tree = {"a": flow.ones(2), "b": [flow.tensor(3), "text", None]}
    arrays = flow.jax.to_jax(tree)
    assert isinstance(arrays["a"], jax.Array)
    assert arrays["b"][1:] == ["text", None]
    back = flow.jax.from_jax(arrays)
    assert back["b"][0].dtype is flow.int64
    assert addresses(flow.jax.to_jax(back["a"])) == addresses(arrays["a"])


@pytest.mark.parametrize("count", [1, 6], ids=["cold", "hot"])
def test_writes_change_the_tensor_alone(count):
    array = jnp.arange(3000.0)
    other = jax.device_put(array)
    tensor = flow.jax.from_jax(array)
    kept = flow.jax.to_jax(tensor)
    for _ in range(count):
        tensor.add_(1)
        tensor.sum().item()
    for view in (array, other, kept):
        assert view[:3].tolist() == [0, 1, 2]
    assert tensor[:2].tolist() == [count, count + 1]


@pytest.mark.parametrize("number", range(3))
def test_devices(number):
    tensor = flow.jax.from_jax(jax.device_put(jnp.ones(2), jax.devices()[number]))
    assert tensor.device == flow.device("cpu", number)
    assert flow.jax.to_jax(tensor + 1).devices() == {jax.devices()[number]}


SHARDINGS = {
    "rows": (PartitionSpec("x"), [sbp.split(0), sbp.broadcast]),
    "columns": (PartitionSpec(None, "y"), [sbp.broadcast, sbp.split(1)]),
    "both": (PartitionSpec("x", "y"), [sbp.split(0), sbp.split(1)]),
    "turned": (PartitionSpec("y", "x"), [sbp.split(1), sbp.split(0)]),
    "one after the other": (PartitionSpec(("x", "y")), [sbp.split(0), sbp.split(0)]),
    "whole": (PartitionSpec(), [sbp.broadcast, sbp.broadcast]),
}


@pytest.mark.parametrize("name", SHARDINGS)
def test_sharded_arrays_are_global_tensors(name):
    partition, expected = SHARDINGS[name]
    mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("x", "y"))
    numbers = np.arange(32.0, dtype=np.float32).reshape(8, 4)
    array = jax.device_put(numbers, NamedSharding(mesh, partition))
    tensor = flow.jax.from_jax(array)
    assert tensor.placement == flow.placement("cpu", GRID)
    assert tensor.sbp == tuple(expected)
    np.testing.assert_array_equal(tensor.numpy(), numbers)
    np.testing.assert_array_equal((tensor * 2).sum(0).numpy(), numbers.sum(0) * 2)
    back = flow.jax.to_jax(tensor)
    assert addresses(back) == addresses(array)
    assert back.sharding.is_equivalent_to(array.sharding, 2)


def test_what_has_no_counterpart():
    mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("x", "y"))
    placement = flow.placement("cpu", [0, 1])
    with pytest.raises(ValueError, match="`to_global`"):
        flow.jax.to_jax(flow.ones(3, placement=placement, sbp=sbp.split(0)))
    with pytest.raises(ValueError, match="`to_global`"):
        flow.jax.to_jax(flow.ones(4, placement=placement, sbp=sbp.split(0)).sum())
    turned = NamedSharding(mesh, PartitionSpec(("y", "x")))
    with pytest.raises(ValueError, match="in their order"):
        flow.jax.from_jax(jax.device_put(np.ones(8), turned))
    with pytest.raises(TypeError, match=r"oneflow\.jax\.function"):
        jax.jit(flow.jax.from_jax)(jnp.ones(3))


def test_state_dicts_are_trees():
    layer = flow.nn.Linear(2, 1)
    arrays = flow.jax.to_jax({"model": layer.state_dict()})["model"]
    assert type(arrays) is dict
    assert [*map(type, arrays.values())] == [type(jnp.ones(1))] * 2
    paths = jax.tree_util.tree_leaves_with_path(layer.state_dict())
    assert [jax.tree_util.keystr(path) for path, _ in paths] == ["['weight']", "['bias']"]
    other = flow.nn.Linear(2, 1)
    other.load_state_dict(flow.jax.from_jax(arrays))
    assert flow.equal(other.weight, layer.weight)


def test_what_has_tensors_and_is_no_tree_of_them():
    layer = flow.nn.Linear(2, 1)
    for wrong in (layer, layer.named_parameters(), iter([flow.ones(1)])):
        with pytest.raises(TypeError, match=r"dict\(model.named_parameters\(\)\)"):
            flow.jax.to_jax(wrong)
    with pytest.raises(TypeError, match="got tensors within SimpleNamespace, which is no tree"):
        flow.jax.to_jax([SimpleNamespace(loss=flow.ones(1))])
    tensors = {"weight": flow.ones(1)}
    for wrong in (tensors.values(), tensors.items(), {*tensors.values()}, deque(tensors.values())):
        name = type(wrong).__name__
        with pytest.raises(TypeError, match=f"got tensors within {name}, which is no tree"):
            flow.jax.to_jax([wrong])
    assert flow.jax.to_jax([{1}, tensors.keys()]) == [{1}, tensors.keys()]


@pytest.mark.parametrize(("count", "fails"), [("1", False), ("2", True)])
def test_import_after_jax_has_counted_its_devices(count, fails):
    script = "import jax.numpy as jnp; jnp.ones(1); import oneflow as flow; print(flow.ones(1)[0])"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "ONEFLOW_CPU_DEVICES": count},
        capture_output=True,
        text=True,
    )
    assert bool(done.returncode) == fails, done.stderr
    assert ("import oneflow before JAX makes its first array" in done.stderr) == fails
