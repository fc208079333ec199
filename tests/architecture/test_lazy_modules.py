"""Importing the package imports only what most programs need; the rest comes when it is named."""

import json
import subprocess
import sys
import textwrap

import pytest

import oneflow as flow

# Modules that a program does without which trains a model on arrays of its own.
NOT_NEEDED = (
    "jax._src.pallas",
    "oneflow.data",
    "oneflow.plan",
    "tqdm",
    "urllib.request",
    "xml",
)


def printed_by(code):
    """The JSON that code prints in a process of its own."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_import_leaves_out_what_few_programs_need():
    code = "import json, sys, oneflow; print(json.dumps(sorted(sys.modules)))"
    imported = set(printed_by(code))
    assert "oneflow.autograd.gradients" in imported
    assert imported.isdisjoint(NOT_NEEDED)
    assert imported.isdisjoint(f"oneflow.{name}" for name in flow.__lazy_modules__)


def test_importing_leaves_the_garbage_collector_alone():
    code = """
        import functools, gc, json, jax
        called = []
        for name in ("collect", "disable", "enable", "freeze", "set_threshold", "unfreeze"):
            setattr(gc, name, functools.partial(lambda name, *_: called.append(name), name))
        import oneflow
        print(json.dumps(called))
    """
    assert printed_by(textwrap.dedent(code)) == []


@pytest.mark.parametrize("name", flow.__lazy_modules__)
def test_lazy_modules_are_attributes(name):
    assert getattr(flow, name).__name__ == f"oneflow.{name}"
    assert name in dir(flow)


def test_paths_of_pytorch_are_attributes():
    paths = [
        "amp.autocast_mode",
        "autograd.profiler.record_function",
        "cuda.nvtx",
        "distributed.distributed_c10d",
        "nn.modules.Conv2d",
        "nn.modules.instancenorm",
        "nn.parallel.distributed",
        "nn.parameter.Parameter",
        "nn.utils.clip_grad",
        "serialization",
        "utils.dlpack",
    ]
    code = f"""
        import functools, json, oneflow
        found = [functools.reduce(getattr, path.split("."), oneflow) for path in {paths}]
        print(json.dumps([each.__name__ for each in found]))
    """
    names = printed_by(textwrap.dedent(code))
    assert [name.rpartition(".")[2] for name in names] == [
        path.rpartition(".")[2] for path in paths
    ]


def test_layers_in_a_file_are_imported(tmp_path):
    """A program that names none of them loads them, and functions of theirs."""
    path = tmp_path / "model"
    layer = flow.nn.TransformerEncoderLayer(4, 2, 8, activation=flow.nn.functional.gelu)
    flow.save(layer, path)
    code = f"""
        import json, oneflow
        layer = oneflow.load({str(path)!r})
        print(json.dumps([type(layer).__name__, layer.activation.__name__]))
    """
    assert printed_by(textwrap.dedent(code)) == ["TransformerEncoderLayer", "gelu"]


def test_unknown_names_are_errors():
    with pytest.raises(AttributeError, match="module 'oneflow' has no attribute 'tensro'"):
        _ = flow.tensro
