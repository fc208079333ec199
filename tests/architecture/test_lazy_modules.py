"""Importing the package imports only what most programs need; the rest comes when it is named."""

import json
import subprocess
import sys

import pytest

import oneflow as flow

# What a program that trains a model on arrays of its own does without.
NOT_NEEDED = (
    "jax._src.pallas",
    "oneflow.data",
    "oneflow.plan",
    "tqdm",
    "urllib.request",
    "xml",
)


def test_import_leaves_out_what_few_programs_need():
    code = "import json, sys, oneflow; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(json.loads(done.stdout))
    assert "oneflow.nn" in imported
    assert imported.isdisjoint(NOT_NEEDED)
    assert imported.isdisjoint(f"oneflow.{name}" for name in flow.__lazy_modules__)


@pytest.mark.parametrize("name", flow.__lazy_modules__)
def test_lazy_modules_are_attributes(name):
    assert getattr(flow, name).__name__ == f"oneflow.{name}"
    assert name in dir(flow)


def test_unknown_names_are_errors():
    with pytest.raises(AttributeError, match="module 'oneflow' has no attribute 'tensro'"):
        _ = flow.tensro
