"""Pictures of the reference show what PyTorch computes, too, on pages that there are."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.docs.test_reference import ENTRIES, ROOT, page
from tests.sampling import Sample

sys.path[:0] = [str(ROOT / "docs" / "extensions")]

from drawing import COLORS, Curves, Matrices, Signatures, draw  # noqa: E402
from pictures import FIGURES, OPERATORS, SCHEDULES, pictures  # noqa: E402

PATHS = {entry.path: entry for entry in ENTRIES}
STEPS = np.arange(100.0)
# Functions whose derivative is a constant.
STAIRS = {f"oneflow.{name}" for name in ["ceil", "floor", "frac", "round", "sign", "trunc"]}
# Names that PyTorch does not have, or has with another meaning.
RATES = {
    "CosineDecayLR": 0.1 + 0.9 * (1 + np.cos(np.pi * np.minimum(STEPS, 80) / 80)) / 2,
    "PolynomialLR": 1e-4 + (1 - 1e-4) * (1 - np.minimum(STEPS, 80) / 80) ** 2,
    "WarmupLR": np.minimum(0.1 + 0.9 * STEPS / 30, 1),
}
ONLY_HERE: dict[str, Callable[[Any], Any]] = {
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "square_relu": lambda x: x.relu().square(),
}
ONLY_HERE |= {
    "QuickGELU": ONLY_HERE["quick_gelu"],
    "SquareReLU": ONLY_HERE["square_relu"],
}


def test_pictures_stand_on_pages() -> None:
    assert len(pictures()) >= 150
    assert set(pictures()) <= set(PATHS)
    text = page(PATHS["oneflow.nn.ReLU"], [], ())
    assert ".. image:: pictures/oneflow.nn.ReLU.svg\n   :alt: ReLU" in text
    further = page(PATHS["oneflow.softmax"], ["oneflow.nn.functional.softmax"], ())
    assert further.count(".. image:: pictures/") == 2
    assert ".. image::" not in page(PATHS["oneflow.nn.Linear"], [], ())


def test_every_curve_is_drawn_in_its_own_way(tmp_path: Path) -> None:
    names = [f"curve {number}" for number in range(2 * len(COLORS))]
    x = np.arange(3.0)
    draw(Curves(x, dict.fromkeys(names, x), "x"), tmp_path / "picture.svg")
    drawn = (tmp_path / "picture.svg").read_text()
    assert all(name in drawn for name in names)
    for color in COLORS:
        lines = set(re.findall(rf"fill: none;[^\"]*stroke: {color}[^\"]*", drawn))
        assert len(lines) == 2


def test_figures_of_the_guides_stand_on_pages() -> None:
    assert set(FIGURES) <= set(PATHS)
    for path, file in FIGURES.items():
        assert (ROOT / "docs" / "images" / file).exists()
        assert f".. image:: ../../images/{file}\n" in page(PATHS[path], [], ())


@pytest.mark.parametrize("path", pictures())
def test_pictures_show_what_pytorch_computes(path: str, sample: Sample, tmp_path: Path) -> None:
    sample.take(path, 4)
    picture = pictures()[path]()
    draw(picture, tmp_path / "picture.svg")
    drawn = (tmp_path / "picture.svg").read_text()
    if isinstance(picture, Signatures):
        return
    expected = expected_values(path)
    assert list(picture.values) == list(expected)
    for title, values in picture.values.items():
        np.testing.assert_allclose(values, expected[title], rtol=1e-4, atol=2e-5)
        assert title.split("=")[0] in drawn
    if isinstance(picture, Curves):
        assert all(len(picture.x) == len(values) for values in picture.values.values())
        assert picture.axis.split(",")[0].split("\n")[0] in drawn


def expected_values(path: str) -> dict[str, np.ndarray]:
    name = path.rpartition(".")[2]
    if name in RATES:
        return {"": RATES[name]}
    if name in ONLY_HERE:
        x = torch.linspace(-4, 4, 161).requires_grad_()
        value = ONLY_HERE[name](x)
        value.sum().backward()
        assert x.grad is not None
        return {"value": value.detach().numpy(), "derivative": x.grad.numpy()}
    picture = pictures()[path](library=torch)
    assert isinstance(picture, Curves | Matrices)
    return dict(picture.values)


def test_pages_have_no_background(tmp_path: Path) -> None:
    """Dark pages show pictures as light ones do."""
    for path in ("oneflow.nn.ReLU", "oneflow.nn.Conv2d", "oneflow.matmul"):
        draw(pictures()[path](), tmp_path / "picture.svg")
        drawn = (tmp_path / "picture.svg").read_text().lower()
        assert "fill: #ffffff" not in drawn
        assert "fill: #000000" not in drawn


@pytest.mark.parametrize("path", OPERATORS)
def test_signatures_compute_the_operator(path: str) -> None:
    """PyTorch computes both parts; put together as the result's SBP says they are the whole."""
    picture = pictures()[path]()
    assert isinstance(picture, Signatures)
    assert picture.rows
    call, shapes = OPERATORS[path]
    operands = [torch.randn(*shape, dtype=torch.float64) for shape in shapes]
    expected = call(torch, *operands)
    assert picture.shapes == (*shapes, tuple(expected.shape))
    for *given, result in picture.rows:
        parts = [parts_of(operand, sbp) for operand, sbp in zip(operands, given, strict=True)]
        results = [call(torch, *[part[rank] for part in parts]) for rank in (0, 1)]
        np.testing.assert_allclose(whole_of(results, result), expected)


def parts_of(tensor: torch.Tensor, sbp: str) -> tuple[torch.Tensor, ...]:
    if sbp == "P":
        part = torch.randn_like(tensor)
        return part, tensor - part
    return (tensor, tensor) if sbp == "B" else tensor.chunk(2, int(sbp[2]))


def whole_of(parts: list[torch.Tensor], sbp: str) -> torch.Tensor:
    if sbp == "P":
        return parts[0] + parts[1]
    return parts[0] if sbp == "B" else torch.cat(parts, int(sbp[2]))


def test_matmul_has_the_signatures_of_the_textbook() -> None:
    picture = pictures()["oneflow.matmul"]()
    assert isinstance(picture, Signatures)
    assert {("S(0)", "B", "S(0)"), ("B", "S(1)", "S(1)"), ("S(1)", "S(0)", "P")} <= set(
        picture.rows
    )


def test_masks_are_those_of_attention() -> None:
    picture = pictures()["oneflow.nn.functional.scaled_dot_product_attention"]()
    assert isinstance(picture, Matrices)
    assert all(np.allclose(values.sum(1), 1) for values in picture.values.values())
    assert not np.triu(picture.values["is_causal=True"], 1).any()
    assert (picture.values["all keys"] > 0).all()


def test_schedules_change_the_rate() -> None:
    for name in SCHEDULES:
        rates = pictures()[f"oneflow.optim.lr_scheduler.{name}"]()
        assert isinstance(rates, Curves)
        assert np.ptp(rates.values[""])


@pytest.mark.parametrize("path", pictures())
def test_curves_have_a_shape(path: str) -> None:
    picture = pictures()[path]()
    if not isinstance(picture, Curves):
        pytest.skip("no curves")
    assert all(len(picture.x) == len(values) for values in picture.values.values())
    for title, values in picture.values.items():
        assert np.isfinite(values).all()
        assert np.ptp(values) or (title == "derivative" and path in STAIRS)


def test_curves_are_the_functions() -> None:
    relu = pictures()["oneflow.nn.functional.relu"]()
    assert isinstance(relu, Curves)
    np.testing.assert_array_equal(relu.values["value"], np.maximum(relu.x, 0))
    np.testing.assert_array_equal(relu.values["derivative"], relu.x > 0)
    steps = pictures()["oneflow.optim.lr_scheduler.StepLR"]().values[""]
    np.testing.assert_allclose(steps[[0, 24, 25, 99]], [1, 1, 0.5, 0.125])
    normal = pictures()["oneflow.distributions.Normal"]().values["(0.0, 1.0)"]
    assert normal.max() == pytest.approx(1 / np.sqrt(2 * np.pi))
