"""XLA's options: chosen by the program, and only those that XLA knows."""

import pytest

import oneflow as flow
from oneflow.compiler import options
from oneflow.compiler.options import compiler_options, operation_options


@pytest.fixture(autouse=True)
def _chosen_anew():
    compiler_options.cache_clear()
    yield
    compiler_options.cache_clear()


def test_options_that_this_xla_does_not_know_are_left_out(monkeypatch):
    known = compiler_options("cpu", has_convolution=True)
    compiler_options.cache_clear()
    unknown = {"cpu": {**options._CONV_OPTIONS["cpu"], "xla_cpu_not_an_option": "1"}}
    monkeypatch.setattr(options, "_CONV_OPTIONS", unknown)
    assert compiler_options("cpu", has_convolution=True) == known
    assert set(options._CONV_OPTIONS["cpu"]) >= set(known)


def test_single_operations_are_not_tuned_on_the_gpu():
    assert operation_options("cuda") == {"xla_gpu_autotune_level": "0"}
    assert operation_options("cpu") == {}


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

    def choose(platform, has_convolution=False):
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
