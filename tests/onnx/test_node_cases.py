"""ONNX's own test cases, of every operator on our backend and of nine networks."""

from __future__ import annotations

import functools
import importlib
import warnings
import zlib
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import OptionalProto, SequenceProto, TensorProto, numpy_helper
from onnx.backend.test.runner import Runner

from oneflow_onnx import backend
from tests.onnx.models import parsed

SHARDS = 24

RANDOM = "the expected values come from another random generator"
ROUNDED = "half precision is rounded once, from single precision; the case rounds after each step"
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
# Cases of `onnx` 1.23 that fail, with the reason; whoever mends one removes its line.
EXPECTED_FAILURES = {
    "test_attention_4d_causal_fp16": ROUNDED,
    "test_attention_4d_causal_fp16_expanded": ROUNDED,
    "test_bernoulli": RANDOM,
    "test_bernoulli_double": RANDOM,
    "test_bernoulli_double_expanded": RANDOM,
    "test_bernoulli_expanded": RANDOM,
    "test_bernoulli_seed": RANDOM,
    "test_bernoulli_seed_expanded": RANDOM,
    "test_dft_inverse": "0 within 1e-14; the expected value is off by 2e-7",
    "test_dft_inverse_opset19": "0 within 1e-14; the expected value is off by 2e-7",
    "test_loop16_seq_none": "onnx's runner cannot compare sequences",
    "test_training_dropout": RANDOM,
    "test_training_dropout_default": RANDOM,
    "test_training_dropout_default_mask": RANDOM,
    "test_training_dropout_mask": RANDOM,
}
# Random outcomes may agree by chance, and how NumPy and XLA round depends on the processor.
NOT_STRICT = {name for name, reason in EXPECTED_FAILURES.items() if reason in (RANDOM, ROUNDED)}


@functools.cache
def node_cases():
    """All cases of the installed onnx, made in memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The cases compute with infinities on purpose.
        loader = importlib.import_module("onnx.backend.test.loader")
        return loader.load_model_tests(kind="node")


def plain(value):
    """A value of a case as arrays, lists and None."""
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, SequenceProto):
        return [plain(part) for part in numpy_helper.to_list(value)]
    if isinstance(value, OptionalProto):
        return plain(numpy_helper.to_optional(value)) if value.elem_type else None
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value if value is None else np.asarray(value)


def failure_of(case):
    """The error of a case, or None if it passes."""
    try:
        prepared = backend.prepare(case.model)
        for inputs, expected in case.data_sets:
            outputs = prepared.run([plain(value) for value in inputs])
            wanted = [plain(value) for value in expected]
            Runner.assert_similar_outputs(wanted, list(outputs), case.rtol, case.atol)
    except Exception as error:  # Every error is a finding, the cases go on.
        return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.one_in(20)
@pytest.mark.xdist_group("onnx_node_cases")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_node_cases(shard):
    cases = [c for c in node_cases() if zlib.crc32(c.name.encode()) % SHARDS == shard]
    assert len(cases) > 20
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        failures = {c.name: failure for c in cases if (failure := failure_of(c))}
    unexpected = {n: failure for n, failure in failures.items() if n not in EXPECTED_FAILURES}
    assert not unexpected
    names = {c.name for c in cases} - NOT_STRICT
    assert not (names & EXPECTED_FAILURES.keys()) - failures.keys(), "these pass: remove them"


@pytest.mark.xdist_group("onnx_node_cases")
def test_expected_failures_are_cases():
    """Names that onnx no longer has are removed."""
    assert EXPECTED_FAILURES.keys() <= {case.name for case in node_cases()}


@pytest.mark.large
@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", sorted(path.stem for path in LIGHT.glob("*.onnx")))
def test_networks(name):
    """Compiled: in eager mode, what BLAS rounds differently from class to class decides one."""
    model = onnx.load(LIGHT / f"{name}.onnx")
    weights = {initializer.name for initializer in model.graph.initializer}
    (given,) = [value for value in model.graph.input if value.name not in weights]
    shape = [dim.dim_value for dim in given.type.tensor_type.shape.dim]
    x = np.linspace(0, 1, np.prod(shape), endpoint=False, dtype=np.float32).reshape(shape)
    (output,) = backend.run_model(model, [x])
    wanted = onnx.load_tensor(LIGHT / f"{name}_output_0.pb")
    np.testing.assert_allclose(output, numpy_helper.to_array(wanted), rtol=2e-3, atol=1e-7)


def test_networks_are_compiled_once(monkeypatch):
    """Bodies that Python runs are counted: at every call in eager mode, once for a graph."""
    model = parsed("g (float[n] x) => (float[n] y) <float[1] w = {2}> { y = Mul(x, w) }")
    prepared = backend.prepare(model)
    calls, run = [], prepared.module.run
    monkeypatch.setattr(prepared.module, "run", lambda values: calls.append(1) or run(values))
    for scale in (1, 2, 3):
        (y,) = prepared.run([np.ones(4, np.float32) * scale])
        np.testing.assert_array_equal(y, np.full(4, 2 * scale))
    assert len(calls) == 1


def test_networks_that_read_values_run_eagerly():
    text = """g (float[n] x) => (float[m, k] y) <float[1] w = {2}> {
        z = Mul(x, w)
        p = NonZero(z)
        y = Cast <to = 1> (p)
    }"""
    (y,) = backend.run_model(parsed(text), [np.asarray([0, 1, 0, 3], np.float32)])
    np.testing.assert_array_equal(y, [[1, 3]])


def test_wrong_inputs_of_networks_are_refused():
    model = parsed("g (float[2] x) => (float[2] y) <float[1] w = {2}> { y = Mul(x, w) }")
    with pytest.raises(ValueError, match="`x` must have the shape"):
        backend.run_model(model, [np.ones(3, np.float32)])
