"""Pictures of the reference show what the functions compute, on pages that there are."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.docs.test_reference import ENTRIES, ROOT, page

sys.path[:0] = [str(ROOT / "docs" / "extensions")]

from pictures import COLORS, FIGURES, Matrices, Picture, draw, pictures  # noqa: E402

PATHS = {entry.path: entry for entry in ENTRIES}


def test_pictures_stand_on_pages() -> None:
    assert len(pictures()) >= 50
    assert set(pictures()) <= set(PATHS)
    text = page(PATHS["oneflow.nn.ReLU"], [], ())
    assert ".. image:: pictures/oneflow.nn.ReLU.svg\n   :alt: ReLU" in text
    assert ".. image::" not in page(PATHS["oneflow.nn.Linear"], [], ())


def test_figures_of_the_guides_stand_on_pages() -> None:
    assert set(FIGURES) <= set(PATHS)
    for path, file in FIGURES.items():
        assert (ROOT / "docs" / "images" / file).exists()
        assert f".. image:: ../../images/{file}\n" in page(PATHS[path], [], ())


def test_masks_are_those_of_attention(tmp_path: Path) -> None:
    picture = pictures()["oneflow.nn.functional.scaled_dot_product_attention"]()
    assert isinstance(picture, Matrices)
    assert all(np.allclose(values.sum(1), 1) for values in picture.values.values())
    assert not np.triu(picture.values["is_causal=True"], 1).any()
    assert (picture.values["all keys"] > 0).all()
    draw(picture, tmp_path / "picture.svg")
    assert "is_causal=True" in (tmp_path / "picture.svg").read_text()


@pytest.mark.parametrize("path", pictures())
def test_curves_are_drawn(path: str, tmp_path: Path) -> None:
    picture = pictures()[path]()
    if not isinstance(picture, Picture):
        pytest.skip("no curves")
    assert all(len(picture.x) == len(values) for values in picture.curves.values())
    assert all(np.isfinite(values).all() and np.ptp(values) for values in picture.curves.values())
    assert len(picture.curves) <= len(COLORS)
    file = tmp_path / "picture.svg"
    draw(picture, file)
    assert picture.axis.split(",")[0].split("\n")[0] in file.read_text()


def test_curves_are_the_functions() -> None:
    relu = pictures()["oneflow.nn.functional.relu"]()
    np.testing.assert_array_equal(relu.curves["value"], np.maximum(relu.x, 0))
    np.testing.assert_array_equal(relu.curves["derivative"], relu.x > 0)
    steps = pictures()["oneflow.optim.lr_scheduler.StepLR"]().curves[""]
    np.testing.assert_allclose(steps[[0, 24, 25, 99]], [1, 1, 0.5, 0.125])
    normal = pictures()["oneflow.distributions.Normal"]().curves["(0.0, 1.0)"]
    assert normal.max() == pytest.approx(1 / np.sqrt(2 * np.pi))
