"""Grad modes as context managers and as decorators."""

import pytest
import torch

import oneflow as flow
from tests.autograd.both import agree


def states(lib, switch):
    seen = [lib.is_grad_enabled()]
    with switch():
        seen.append(lib.is_grad_enabled())
        with lib.enable_grad():
            seen.append(lib.is_grad_enabled())
        seen.append(lib.is_grad_enabled())
    return [*seen, lib.is_grad_enabled()]


@pytest.mark.parametrize("name", ["no_grad", "enable_grad", "inference_mode"])
def test_context_manager(name):
    agree(lambda lib: states(lib, getattr(lib, name)))


def test_set_grad_enabled_as_context_manager():
    agree(lambda lib: states(lib, lambda: lib.set_grad_enabled(False)))


def test_set_grad_enabled_as_function():
    def case(lib):
        lib.set_grad_enabled(False)
        off = lib.is_grad_enabled()
        lib.set_grad_enabled(mode=True)
        return off, lib.is_grad_enabled()

    agree(case)


def test_mode_is_restored_after_an_error():
    def case(lib):
        try:
            with lib.no_grad():
                raise ValueError("boom")
        except ValueError:
            return lib.is_grad_enabled()

    agree(case)


@pytest.mark.parametrize("called", [True, False])
def test_decorator(called):
    def case(lib):
        decorate = lib.no_grad() if called else lib.no_grad

        @decorate
        def double(x):
            """Doc."""
            return x * 2, lib.is_grad_enabled()

        y, inside = double(lib.ones(2, requires_grad=True))
        return y.requires_grad, inside, lib.is_grad_enabled(), double.__name__, double.__doc__

    agree(case)


def test_decorator_of_set_grad_enabled_leaves_the_mode_alone():
    def case(lib):
        @lib.set_grad_enabled(False)
        def inside():
            return lib.is_grad_enabled()

        return lib.is_grad_enabled(), inside(), lib.is_grad_enabled()

    agree(case)


def test_decorated_generator_switches_with_every_turn():
    def case(lib):
        seen = []

        @lib.no_grad()
        def numbers():
            for number in range(2):
                seen.append(lib.is_grad_enabled())
                got = yield number
                seen.append((got, lib.is_grad_enabled()))
            try:
                yield "error"
            except ValueError:
                seen.append(lib.is_grad_enabled())
            return "end"

        generator = numbers()
        seen.append((next(generator), lib.is_grad_enabled()))
        seen.append((generator.send("sent"), lib.is_grad_enabled()))
        seen.append(next(generator))
        try:
            generator.throw(ValueError())
        except StopIteration as stop:
            seen.append((stop.value, lib.is_grad_enabled()))
        return seen

    agree(case)


def test_closed_generator_runs_its_cleanup_without_recording():
    def case(lib):
        seen = []

        @lib.no_grad()
        def numbers():
            try:
                yield 1
            finally:
                seen.append(lib.is_grad_enabled())

        generator = numbers()
        next(generator)
        generator.close()
        return seen, lib.is_grad_enabled()

    agree(case)


def test_inference_mode():
    def case(lib):
        x = lib.ones(2, requires_grad=True)
        with lib.inference_mode():
            y = x * 2
            inside = lib.is_inference_mode_enabled()
        with lib.inference_mode(False):
            z = x * 2
        return y.requires_grad, inside, lib.is_inference_mode_enabled(), z.requires_grad

    agree(case)


def _made_in_inference_mode(lib):
    with lib.inference_mode():
        return lib.ones(3) * 2


def _save(lib):
    lib.ones(3, requires_grad=True) * _made_in_inference_mode(lib)


def _save_view(lib):
    lib.ones(2, requires_grad=True) * _made_in_inference_mode(lib)[:2]


def _write(lib):
    _made_in_inference_mode(lib).add_(1)


def _write_without_grad(lib):
    with lib.no_grad():
        _made_in_inference_mode(lib)[0] = 2.0


def _write_to_view(lib):
    _made_in_inference_mode(lib)[1:].mul_(2)


def _ask_for_gradient(lib):
    _made_in_inference_mode(lib).requires_grad_()


@pytest.mark.parametrize(
    "case",
    [
        _save,
        _save_view,
        _write,
        _write_without_grad,
        _write_to_view,
        _ask_for_gradient,
    ],
)
def test_inference_tensors_stay_out_of_recorded_code(case):
    for lib in (torch, flow):
        with pytest.raises(RuntimeError, match=r"[Ii]nference tensor"):
            case(lib)


def test_inference_tensors_where_nothing_is_saved():
    def case(lib):
        made = _made_in_inference_mode(lib)
        x = lib.ones(3, requires_grad=True)
        (x + made).sum().backward()
        (x * made.clone()).sum().backward()
        outside = made + 1
        into = lib.ones(3).copy_(made)
        (x * into).sum().backward()
        kinds = [
            tensor.is_inference()
            for tensor in (made, made[1:], made.detach(), made.clone(), outside, into)
        ]
        return x.grad.tolist(), kinds

    agree(case)


def test_normal_tensors_stay_normal_in_inference_mode():
    def case(lib):
        x, state = lib.ones(3, requires_grad=True), lib.zeros(3)
        row = state[1:]
        with lib.inference_mode():
            state.add_(1)
            state[0] = 5.0
            row.mul_(3)
            view = state[:2]
            view.add_(1)
            inside = lib.zeros(2)
            inside.add_(1)
            inside[0] = 4.0
        state.mul_(2)
        (x * state).sum().backward()
        (x[:2] * view).sum().backward()
        kinds = [tensor.is_inference() for tensor in (state, row, view, inside)]
        return x.grad.tolist(), inside.tolist(), row.tolist(), kinds

    agree(case)


def test_training_goes_on_after_evaluation_in_inference_mode():
    model = flow.nn.Sequential(flow.nn.Linear(3, 4), flow.nn.BatchNorm1d(4), flow.nn.Linear(4, 1))
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(2):
        with flow.inference_mode():
            assert model(flow.ones(2, 3)).is_inference()
        model(flow.ones(2, 3)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def test_nothing_is_recorded_without_grad():
    x = flow.ones(2, requires_grad=True)
    with flow.no_grad():
        y = (x * 2).exp()
    assert y.grad_fn is None
    assert y.is_leaf


def test_leaf_made_without_recording_can_require_grad():
    def case(lib):
        with lib.no_grad():
            x = lib.ones(2).requires_grad_()
        (x * x).sum().backward()
        return x.grad, x.is_leaf

    agree(case)


def test_inference_mode_records_nothing_whatever_is_asked_for():
    def case(lib):
        x = lib.ones(2, requires_grad=True)
        with lib.inference_mode():
            with lib.enable_grad():
                inside = x * 2
                states = [inside.requires_grad, lib.is_grad_enabled()]
            with lib.set_grad_enabled(True):
                states += [(x * 2).requires_grad, lib.is_grad_enabled()]
            with lib.inference_mode(False):
                states += [(x * 2).requires_grad, lib.is_grad_enabled()]
            states.append(lib.is_grad_enabled())
        return [*states, lib.is_grad_enabled(), (x * 2).requires_grad]

    agree(case)
