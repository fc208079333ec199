"""The examples with job functions, in small sizes, give the losses of their twins of today."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "legacy"
SIZES = {
    "resnet50": {"blocks": (1, 1, 1, 1), "classes": 10, "image": 32, "batch": 4},
    "bert_pretraining": {
        "vocabulary": 50,
        "length": 12,
        "masked": 3,
        "width": 16,
        "heads": 2,
        "batch": 4,
    },
    "wide_and_deep": {"rows": 40, "fields": 3, "numbers": 4, "features": 4, "batch": 16},
}


@pytest.mark.parametrize("name", SIZES)
def test_losses_are_those_of_today(name, monkeypatch, sample):
    if name == "resnet50":
        sample.take(f"job function {name}", one_in=3)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    example = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, example)
    spec.loader.exec_module(example)
    losses = np.array(example.train(example.Size(**SIZES[name]), steps=20))
    np.testing.assert_allclose(losses[:, 0], losses[:, 1], rtol=1e-4)
    assert losses[-1, 0] < losses[0, 0]
