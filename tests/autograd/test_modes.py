"""Grad modes as context managers and as decorators."""

import pytest

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
