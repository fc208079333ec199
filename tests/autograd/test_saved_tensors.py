"""Saved tensors can be packed, and what a checkpointed function saves is made again."""

import contextlib
import weakref

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow.base.device import CPU
from oneflow.compiler.lower import Executable
from oneflow.nn.functional import dropout
from oneflow.primitives.operators.control import barrier
from oneflow.tensor import call
from oneflow.tensor.views import unwrap
from oneflow.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential
from tests.autograd.both import agree


def test_hooks_pack_and_unpack():
    def case(lib):
        packed = []

        def pack(tensor):
            packed.append(tensor.clone())
            return tensor.numpy() if lib is flow else tensor.detach().numpy()

        with lib.autograd.graph.saved_tensors_hooks(pack, lib.tensor):
            x = lib.tensor([1.0, 2.0], requires_grad=True)
            y = (x * x).exp()
        outside = y * y
        outside.sum().backward()
        return x.grad, sorted(plain.sum().item() for plain in packed)

    agree(case)


def test_unpacked_tensors_keep_their_history():
    def case(lib):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        with lib.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t * 1):
            y = (x * x).sqrt() * x
        (slope,) = lib.autograd.grad(y.sum(), x, create_graph=True)
        return slope, lib.autograd.grad(slope.sum(), x)

    agree(case)


def test_unpack_hook_must_return_a_tensor():
    def case(lib):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        with lib.autograd.graph.saved_tensors_hooks(lambda t: 0, lambda t: t):
            y = x.exp()
        y.sum().backward()

    agree(case, "unpack_hook expected to be a Tensor but got result of type")


def test_save_on_cpu():
    x = flow.tensor([1.0, 2.0], requires_grad=True)
    with flow.autograd.graph.save_on_cpu():
        y = x.exp()
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1.0, 2.0]), rtol=1e-6)


def block(weight):
    return lambda x: dropout((x @ weight).tanh(), 0.5) * x.exp()


def gradients(run, **options):
    flow.manual_seed(5)
    weight, x = flow.randn(4, 4, requires_grad=True), flow.randn(3, 4, requires_grad=True)
    y = run(block(weight), run(block(weight), x, **options), **options)
    y.sum().backward()
    return x.grad.numpy(), weight.grad.numpy(), flow.rand(2).numpy()


def direct(function, x):
    return function(x)


def nested(function, x):
    return checkpoint(lambda x: checkpoint(function, x) * 1, x)


@pytest.mark.parametrize("run", [checkpoint, nested], ids=["flat", "nested"])
def test_checkpoint_changes_no_number(run):
    for found, expected in zip(gradients(run), gradients(direct), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_checkpoint_without_random_state_draws_again():
    found, expected = gradients(checkpoint, preserve_rng_state=False), gradients(direct)
    assert not np.array_equal(found[0], expected[0])


def test_checkpointed_function_runs_again_in_backward():
    calls = []

    def function(x, *, scale):
        calls.append(flow.is_grad_enabled())
        return (x * x).exp() * scale

    x = flow.tensor([0.5, 1.0], requires_grad=True)
    y = checkpoint(function, x, scale=2.0)
    assert calls == [True]
    y.sum().backward()
    assert calls == [True, True]


def test_checkpoint_keeps_no_intermediate_value():
    kept = []

    def function(x):
        y = x.exp()
        kept.append(unwrap(y))
        return y.tanh().sum()

    x = flow.ones(2, requires_grad=True)
    out = checkpoint(function, x)
    reference = weakref.ref(kept.pop())
    assert reference() is None
    out.backward()
    assert x.grad is not None


def temporary_bytes(run):
    """The memory beside inputs and outputs of a pass over four segments of four products."""
    weights = [flow.ones(32, 32, requires_grad=True) for _ in range(4)]
    x = flow.ones(1024, 32, requires_grad=True)

    def segment(x):
        for weight in weights:
            x = (x @ weight).tanh()
        return x

    def gradients():
        y = x
        for _ in range(4):
            y = run(segment, y)
        return flow.autograd.grad(y.sum(), [x, *weights])

    return Executable(flow.eager.record(gradients), (), CPU).memory().temp_size_in_bytes


def test_checkpoint_saves_memory():
    assert temporary_bytes(checkpoint) < 0.6 * temporary_bytes(direct)


def test_barrier_passes_gradients_on():
    x, y = flow.ones(2, requires_grad=True), flow.zeros(3)
    first, second = call(barrier, 1, x * 2, y)
    (first * first).sum().backward()
    assert x.grad.tolist() == [8.0, 8.0]
    assert second.tolist() == [0.0] * 3


def test_checkpoint_with_autograd_grad_and_second_derivatives():
    def results(run):
        x = flow.tensor([0.5, 1.0], requires_grad=True)
        (slope,) = flow.autograd.grad(run(lambda x: x.exp() * x, x).sum(), x, create_graph=True)
        (curve,) = flow.autograd.grad(slope.sum(), x)
        return slope.detach().numpy(), curve.numpy()

    for found, expected in zip(results(checkpoint), results(direct), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_checkpointed_input_may_be_overwritten_later():
    x = flow.ones(2, requires_grad=True)
    y = x * 2
    z = checkpoint(lambda y: y.exp(), y)
    with flow.no_grad():
        y.zero_()
    z.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp([2.0, 2.0]), rtol=1e-6)


def test_checkpointed_function_must_do_the_same_again():
    calls = []

    def function(x):
        calls.append(0)
        return x.exp() if len(calls) == 1 else x.exp().tanh()

    y = checkpoint(function, flow.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="must do the same both times"):
        y.sum().backward()


def test_checkpoint_compares_what_is_saved_again():
    calls = []

    def function(x):
        calls.append(0)
        return (x if len(calls) % 2 else x[:1]).exp().sum()

    x = flow.ones(3, requires_grad=True)
    with pytest.raises(CheckpointError, match=r"float32\[3\], and is float32\[1\]"):
        checkpoint(function, x).backward()
    checkpoint(function, x, determinism_check="none").backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1.0] * 3), rtol=1e-6)
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        checkpoint(function, x, determinism_check="some")


def test_a_checkpointed_function_runs_in_its_contexts():
    def events(lib):
        found = []

        @contextlib.contextmanager
        def noted(name):
            found.append(f"enter {name}")
            try:
                yield
            finally:
                found.append(f"leave {name}")

        x = lib.ones(2, requires_grad=True)
        options = {"use_reentrant": False, "context_fn": lambda: (noted("first"), noted("again"))}
        y = lib.utils.checkpoint.checkpoint(lambda x: (x * x).exp(), x, **options)
        found.append("backward")
        y.sum().backward()
        return found, x.grad.tolist()

    (mine, gradient), (theirs, expected) = events(flow), events(torch)
    assert mine == theirs
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)


def test_checkpoint_sequential():
    functions = [flow.exp, flow.tanh, flow.exp, flow.tanh]
    x = flow.tensor([0.5, 1.0], requires_grad=True)
    checkpoint_sequential(functions, 2, x).sum().backward()
    found, x.grad = x.grad, None
    x.exp().tanh().exp().tanh().sum().backward()
    np.testing.assert_allclose(found.numpy(), x.grad.numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "compute",
    [
        lambda lib, x, other: lib.addcmul(x, other, other),
        lambda lib, x, other: lib.addcdiv(x, other, lib.ones(2)),
        lambda lib, x, other: lib.lerp(x, other, 0.25),
    ],
    ids=["addcmul", "addcdiv", "lerp"],
)
def test_what_no_gradient_needs_may_be_overwritten(compute):
    def case(lib):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        other = lib.tensor([3.0, 4.0])
        y = compute(lib, x, other)
        other.zero_()
        y.sum().backward()
        return x.grad

    agree(case)
