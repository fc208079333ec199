"""`make chips`: its programs, its table, that it goes on, and figures that stay as they are."""

import json
import subprocess
from types import SimpleNamespace

import jax.numpy as jnp
import pytest
from benchmarks.jax_steps import unet as jax_unet
from benchmarks.models import unet
from tools.chips import __main__ as tool, environment, measure, rows, table
from tools.chips.workloads import WORKLOADS

import oneflow as flow
from oneflow import nn
from oneflow.base.device import platform_devices
from oneflow.compiler import topologies
from oneflow.plan import chip_named

FIGURES = {
    "bytes": 2e9,
    "kernels": 10,
    "flops": 0,
    "temporary": 0,
    "collectives": 0,
    "sent": 0.0,
    "hlo": 30,
    "seconds": 1.0,
}
# Kernels, MB and instructions before optimizing of our programs: what a change may not make worse
# unseen.
GOLDEN = {
    ("sdpa", "h100"): (3, 164.4, 37),
    ("sdpa_gqa", "h100"): (3, 114.0, 73),
    ("key_padding", "v5e"): (25, 241.2, 81),
    ("written_block", "h100"): (57, 1947.2, 416),
    ("padded_attention", "h100"): (17, 2544.0, 69),
    ("experts", "h100"): (20, 8036.3, 177),
    ("experts", "v5e"): (51, 1208.0, 177),
    ("dropout", "h100"): (2, 201.3, 305),
    ("dropout", "v5e"): (18, 201.3, 242),
    ("cross_entropy", "h100"): (11, 2069.1, 120),
    ("lstm", "h100"): (1589, 1067.5, 484),
    ("lstm", "v5e"): (144, 11.1, 466),
    ("unet", "h100"): (1278, 16718.8, 15337),
}


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A page for the table."""
    page = tmp_path / "chips.md"
    rows = [
        "| program | chip |",
        "| --- | --- |",
        "| lstm | v5e | 11 |",
        "| dropout | h100:8 | 9 |",
    ]
    text = "\n".join(rows)
    page.write_text(f"Before.\n{table.BEGIN}\n\n{text}\n\n{table.END}\nAfter.\n")
    monkeypatch.setattr(tool, "write_table", lambda results: table.write_table(results, page))
    return page


def test_all_programs_are_compared():
    assert set(tool.NAMES) == set(WORKLOADS)


def test_the_unet_in_jax_computes_what_ours_does():
    sizes = {"batch": 2, "size": 8, "width": 32, "factors": (1, 2), "depth": 1}
    training = unet.build(flow, make_step=lambda training: training, **sizes)
    parameters = []

    def collect(layer, *_):
        # Kernels of JAX have their inputs before their outputs.
        weight = layer.weight.numpy()
        axes = {1: (0,), 2: (1, 0), 4: (2, 3, 1, 0)}[weight.ndim]
        parameters.extend([weight.transpose(axes), layer.bias.numpy()])

    for layer in training.model.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear | nn.GroupNorm):
            layer.register_forward_hook(collect)
    loss = training.loss_of(training.model, *training.inputs)
    step = jax_unet.build(**sizes).func
    images, times, noise = (tensor.numpy() for tensor in training.inputs)
    images, noise = (array.transpose(0, 2, 3, 1) for array in (images, noise))
    step.state[0] = list(map(jnp.array, parameters))
    assert step(images, times, noise) == pytest.approx(loss.item(), rel=1e-5)


def test_a_stopped_run_goes_on(tmp_path, monkeypatch, page):
    compiled = []

    def run(command, **options):
        *_, name, chip, which = command
        compiled.append((name, chip, which))
        if compiled == [("dropout", "h100:8", "ours"), ("dropout", "h100:8", "jax")]:
            return SimpleNamespace(returncode=1, stdout="", stderr="no memory")
        figures = FIGURES | {"kernels": 5 if which == "jax" else 10}
        return SimpleNamespace(returncode=0, stdout=json.dumps(figures))

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(tool, "make_environment", lambda folder: "python")
    arguments = ["chips", "dropout", "--chips", "h100:8", "--cache", str(tmp_path)]
    monkeypatch.setattr("sys.argv", arguments)
    assert tool.main() == 0
    assert "10 : 5" not in page.read_text()
    assert tool.main() == 0
    assert compiled == [("dropout", "h100:8", library) for library in ("ours", "jax", "jax")]
    assert "| dropout | h100:8 | 2,000 : 2,000 (1.00) | 10 : 5 (2.00) |" in page.read_text()
    assert "| lstm | v5e | 11 |\n" in page.read_text()
    assert "| 9 |" not in page.read_text()
    assert page.read_text().startswith("Before.\n")
    assert page.read_text().endswith("\nAfter.\n")
    monkeypatch.setattr("sys.argv", [*arguments, "--again"])
    tool.main()
    assert compiled[3:] == [("dropout", "h100:8", "ours")]


def test_the_environment_is_made_once(tmp_path, monkeypatch):
    installed = []
    monkeypatch.setattr(subprocess, "run", lambda command, **options: installed.append(command))
    monkeypatch.setattr(environment.venv, "create", lambda folder, **options: _packages(folder))
    for _ in range(2):
        python = environment.make_environment(tmp_path / "made")
    assert python == tmp_path / "made" / "bin" / "python"
    assert [str(environment.REQUIREMENTS) in command for command in installed] == [True]


def _packages(folder):
    """The folder of a virtual environment's packages."""
    paths = environment.sysconfig.get_path("purelib", vars={"base": str(folder)})
    environment.Path(paths).mkdir(parents=True)


def test_figures_of_programs_compiled_here(monkeypatch):
    monkeypatch.setattr(topologies, "missing_devices", lambda chip, count: platform_devices("cpu"))
    workload = WORKLOADS["lstm"]
    ours = measure.figures_of(measure.lowered_ours(workload, "v5e", 1))
    assert ours.kernels > 64
    assert ours.bytes > 1 << 20
    assert ours.collectives == 0


def test_operators_that_are_slow_or_fail_are_passed_over(tmp_path, monkeypatch):
    """A process that ends is followed by one for the rows that are left."""
    names, file = list(rows.named_rows())[:4], tmp_path / "rows.jsonl"
    table_of_rows = {name: rows.named_rows()[name] for name in names}
    monkeypatch.setattr(rows, "named_rows", lambda: table_of_rows)

    def run(command, **options):
        done = len(rows.problems_in(file))
        for name in names[done : done + 2][: 2 if done else 1]:
            rows._add(file, name, None)
        left = len(names) - len(rows.problems_in(file))
        return SimpleNamespace(returncode=1 if left else 0, stderr=b"killed")

    monkeypatch.setattr(subprocess, "run", run)
    rows.compile_all("python", "h100", file, 60)
    problems = rows.problems_in(file)
    assert list(problems) == names
    assert [text is None for text in problems.values()] == [True, False, True, True]
    assert "60 s: killed" in problems[names[1]]


# Families that XLA compiles in seconds for TPUs: it takes minutes for factorizations, and for most
# that is computed with 64-bit numbers.
QUICK_FAMILIES = ("activations", "convolutions", "joining", "layers")


@pytest.mark.parametrize("chip", tool.CHIPS)
def test_operators_compile_for_chips(chip, sample):
    missing = topologies.missing_packages(chip_named(chip).type)
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    table_of_rows = rows.named_rows()
    quick = [name for name in table_of_rows if name.startswith(QUICK_FAMILIES)]
    problems = {
        name: rows.problem_of(table_of_rows[name], chip) for name in sample.rotation(quick, 4)
    }
    assert not any(problems.values()), problems


@pytest.mark.parametrize(("name", "chip"), GOLDEN)
def test_kernels_and_bytes_on_chips(name, chip):
    missing = topologies.missing_packages(chip_named(chip).type)
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    figures = measure.figures_of(measure.lowered_ours(WORKLOADS[name], chip, 1))
    kernels, megabytes, instructions = GOLDEN[name, chip]
    assert figures.kernels <= kernels
    assert figures.hlo <= 1.02 * instructions
    assert figures.bytes / 1e6 == pytest.approx(megabytes, rel=0.02)
