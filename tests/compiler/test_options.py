"""XLA's options: chosen by the machine and the program, and only those that XLA knows."""

import pytest

import oneflow as flow
from oneflow.compiler import options
from oneflow.compiler.options import compiler_options, has_wide_vectors

WIDTH = "xla_cpu_prefer_vector_width"


@pytest.fixture(autouse=True)
def _chosen_anew():
    compiler_options.cache_clear()
    yield
    compiler_options.cache_clear()


@pytest.mark.parametrize(
    ("flags", "wide"),
    [
        ("fpu avx2 avx512f avx512_bf16", True),  # AMD since Zen 4, Intel since Sapphire Rapids
        ("fpu avx2 avx512f", False),  # lowers its clock
        ("fpu avx2", False),
    ],
)
def test_wide_vectors_are_for_processors_that_run_them_at_full_speed(monkeypatch, flags, wide):
    processor = f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t: spectre_v1\n"
    assert has_wide_vectors(processor) is wide
    monkeypatch.setattr(options, "_processor", lambda: processor)
    assert compiler_options("cpu").get(WIDTH) == ("512" if wide else None)


def test_nothing_is_known_of_other_systems_processors():
    assert not has_wide_vectors("")


def test_options_that_this_xla_does_not_know_are_left_out(monkeypatch):
    known = compiler_options("cpu", convolves=True)
    compiler_options.cache_clear()
    unknown = {"cpu": {**options._FOR_CONVOLUTIONS["cpu"], "xla_cpu_not_an_option": "1"}}
    monkeypatch.setattr(options, "_FOR_CONVOLUTIONS", unknown)
    assert compiler_options("cpu", convolves=True) == known
    assert set(options._FOR_CONVOLUTIONS["cpu"]) >= set(known) - {WIDTH}


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
    ("function", "convolves"),
    [(convolved, True), (convolved_pointwise, True), (doubled, False)],
)
def test_programs_that_convolve_are_compiled_for_it_saved_ones_too(
    monkeypatch, tmp_path, function, convolves
):
    asked = []

    def choose(platform, convolves=False):
        asked.append((platform, convolves))
        return {}

    monkeypatch.setattr("oneflow.compiler.lower.compiler_options", choose)
    monkeypatch.setattr("oneflow.compiler.export.compiler_options", choose)
    x = flow.randn(2, 3, 8, 8)
    graph = Applied(function)
    graph(x)
    assert asked[-1] == ("cpu", convolves)
    graph.save(tmp_path / "graph")
    asked.clear()
    flow.nn.Graph.load(tmp_path / "graph")(x)
    assert asked == [("cpu", convolves)]
