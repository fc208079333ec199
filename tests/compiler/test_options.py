"""XLA's options: chosen by the program, and only those that XLA knows."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

import oneflow as flow
from oneflow.base.device import platform_devices
from oneflow.base.planning import planning_devices, set_planning_devices
from oneflow.compiler import options
from oneflow.compiler.options import compiler_options, operation_options
from oneflow.runtime.planning_mode import planning


def test_options_that_this_xla_does_not_know_are_left_out(monkeypatch):
    known = compiler_options("cpu", has_convolution=True)
    unknown = {"cpu": {**options._CONV_OPTIONS["cpu"], "xla_cpu_not_an_option": "1"}}
    monkeypatch.setattr(options, "_CONV_OPTIONS", unknown)
    assert compiler_options("cpu", has_convolution=True) == known
    assert set(options._CONV_OPTIONS["cpu"]) >= set(known)


def test_single_operations_are_not_tuned_on_the_gpu():
    assert operation_options("cuda") == {"xla_gpu_autotune_level": "0"}
    assert operation_options("cpu") == {}


def test_options_are_those_of_the_compiler_that_a_plan_asks(monkeypatch):
    """Absent devices have another compiler than this machine's, and so do plans without any."""
    elsewhere, (here, *_) = object(), platform_devices("cpu")
    asked = []
    monkeypatch.setattr(options, "_is_supported", lambda *option: asked.append(option) or True)
    before = planning_devices()
    try:
        set_planning_devices((elsewhere,))
        with planning():
            assert compiler_options("tpu") == options._PROGRAM_OPTIONS["tpu"]
    finally:
        set_planning_devices(before)
    with planning():
        compiler_options("tpu")
    compiler_options("tpu")
    assert [device for *_, device in asked] == [elsewhere, here, here]


def test_products_on_several_cpus_are_left_to_no_library():
    """One of bfloat16 that XLA turns around afterwards could be computed by none."""

    def text(is_global):
        product = jax.jit(
            lambda x, y: jax.lax.dot(x, y, preferred_element_type=jnp.float32),
            compiler_options=compiler_options("cpu", is_global=is_global),
        )
        x = jnp.ones((64, 64), jnp.bfloat16)
        return product.lower(x, x).compile().as_text()

    assert "ynn_fusion" in text(is_global=False)
    assert "ynn_fusion" not in text(is_global=True)


@pytest.mark.parametrize("is_global", [False, True])
def test_programs_say_whether_they_run_on_several_devices(monkeypatch, is_global):
    asked = []

    def choose(platform, has_convolution=False, is_global=False, has_single_numbers=False):
        asked.append(is_global)
        return {}

    monkeypatch.setattr("oneflow.compiler.lower.compiler_options", choose)
    x = flow.ones(2, 3)
    if is_global:
        x = x.to_global(flow.placement("cpu", [0, 1]), flow.sbp.split(0))
    Applied(doubled)(x)
    assert asked[-1] is is_global


class Applied(flow.nn.Graph):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def build(self, x):
        return self.function(x)


def convolved(x):
    return flow.nn.functional.conv2d(x, flow.ones(4, 3, 3, 3))


def convolved_pointwise(x):
    # A matrix product by the time it is saved, where no convolution is left to be seen.
    return flow.nn.functional.conv2d(x, flow.ones(4, 3, 1, 1))


def doubled(x):
    return x * 2


@pytest.mark.parametrize(
    ("function", "has_convolution"),
    [(convolved, True), (convolved_pointwise, True), (doubled, False)],
)
def test_programs_that_convolve_are_compiled_for_it_saved_ones_too(
    monkeypatch, tmp_path, function, has_convolution
):
    asked = []

    def choose(platform, has_convolution=False, is_global=False, has_single_numbers=False):
        asked.append((platform, has_convolution))
        return {}

    monkeypatch.setattr("oneflow.compiler.lower.compiler_options", choose)
    monkeypatch.setattr("oneflow.compiler.export.compiler_options", choose)
    x = flow.randn(2, 3, 8, 8)
    graph = Applied(function)
    graph(x)
    assert asked[-1] == ("cpu", has_convolution)
    graph.save(tmp_path / "graph")
    asked.clear()
    flow.nn.Graph.load(tmp_path / "graph")(x)
    assert asked == [("cpu", has_convolution)]


def written_one_by_one(x):
    table = x * 1
    for row in range(len(table)):
        table[row, 0] += x[row, 1] * 2.5
    return table


@pytest.mark.parametrize(("rows", "has_single_numbers"), [(100, True), (20, False)])
def test_programs_of_single_numbers_are_compiled_for_them(monkeypatch, rows, has_single_numbers):
    asked = []

    def choose(*arguments):
        asked.append(arguments[3])
        return compiler_options(*arguments)

    monkeypatch.setattr("oneflow.compiler.lower.compiler_options", choose)
    x = flow.randn(rows, 2)
    table = Applied(written_one_by_one)(x)
    assert has_single_numbers in asked
    assert has_single_numbers or True not in asked
    expected = x.numpy().copy()
    expected[:, 0] += expected[:, 1] * 2.5
    assert flow.allclose(table, flow.tensor(expected))


def test_chains_of_numbers_do_not_end_the_process():
    """XLA's older emitters call themselves along a chain, and 4,000 are more than the stack holds.

    A process of its own has XLA's options as users have them.
    """
    program = """
import oneflow as flow

class Chain(flow.nn.Graph):
    def build(self, x):
        for _ in range(4000):
            x = x * 0.5 + 1
        return x

print(Chain()(flow.zeros(())).item())
"""
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert (result.returncode, result.stdout.split()) == (0, ["2.0"]), result.stderr
