"""Function transforms refuse the calls that PyTorch's refuse, with the same type of exception."""

from __future__ import annotations

import pytest
import torch

import oneflow as flow


def x(library):
    return library.tensor([1.0, 2.0])


def s(library):
    return library.tensor(1.0)


TRANSFORMS = {
    "grad": lambda t, f, *args, **options: t.func.grad(f, **options)(*args),
    "jacrev": lambda t, f, *args, **options: t.func.jacrev(f, **options)(*args),
    "jacfwd": lambda t, f, *args, **options: t.func.jacfwd(f, **options)(*args),
    "vjp": lambda t, f, *args, **options: t.func.vjp(f, *args, **options)[1](s(t)),
    "jvp": lambda t, f, *args, **options: t.func.jvp(f, args, args, **options)[1],
}
ARGNUMS = [(), 2, -3, (0, 2), (0, 0), (0, -2), 0.0, (1, 0.0), ("0",), [0], "0"]
AUX = [1, 1.0, "abc", None, ["text"]]
OUTPUTS = [None, (), [], 1, 2.5, "abc", {}]


def mul(a, b):
    return a * b


def both(call):
    """The outcome of a call on each library: the type of an exception, or nothing."""
    found = []
    for library in (torch, flow):
        try:
            call(library)
            found.append(None)
        except Exception as error:
            found.append(type(error))
    return found


def check(call):
    expected, found = both(call)
    assert expected is not None, "PyTorch refuses it"
    assert found is expected


@pytest.mark.parametrize("argnums", ARGNUMS, ids=str)
@pytest.mark.parametrize("name", ["grad", "jacrev", "jacfwd"])
def test_numbers_of_arguments(name, argnums):
    check(lambda t: TRANSFORMS[name](t, mul, s(t), s(t), argnums=argnums))


@pytest.mark.parametrize("name", ["grad", "jacrev", "jacfwd"])
def test_numbers_of_arguments_that_fit(name):
    for argnums in (0, 1, -1, (0, 1), (1, 0), (-1,)):
        assert both(lambda t, n=argnums: TRANSFORMS[name](t, mul, s(t), s(t), argnums=n)) == [
            None,
            None,
        ]


@pytest.mark.parametrize("aux", AUX, ids=str)
@pytest.mark.parametrize("name", list(TRANSFORMS))
def test_what_is_beside_the_value(name, aux):
    check(lambda t: TRANSFORMS[name](t, lambda v: (v.sum(), aux), s(t), has_aux=True))
    check(lambda t: TRANSFORMS[name](t, lambda v: (v.sum(), [v, aux]), s(t), has_aux=True))


@pytest.mark.parametrize("name", list(TRANSFORMS))
def test_values_that_are_no_pairs(name):
    check(lambda t: TRANSFORMS[name](t, lambda v: [v, v], s(t), has_aux=True))
    check(lambda t: TRANSFORMS[name](t, lambda v: (v, v, v), s(t), has_aux=True))


@pytest.mark.parametrize("output", OUTPUTS, ids=str)
@pytest.mark.parametrize("name", ["vjp", "jvp", "jacrev", "jacfwd"])
def test_values_that_are_no_tensors(name, output):
    check(lambda t: TRANSFORMS[name](t, lambda v: output, s(t)))


CALLS = {
    "other form of the gradient": lambda t: t.func.vjp(lambda v: (v, v), s(t))[1](s(t)),
    "no tuple of arguments": lambda t: t.func.jvp(t.sin, x(t), (x(t),)),
    "no tuple of tangents": lambda t: t.func.jvp(t.sin, (x(t),), x(t)),
    "a list of tangents": lambda t: t.func.jvp(t.sin, (x(t),), [x(t)]),
    "too many tangents": lambda t: t.func.jvp(t.sin, (x(t),), (x(t), x(t))),
    "too many of both": lambda t: t.func.jvp(t.sin, (x(t), x(t)), (x(t), x(t), x(t))),
    "no elements at a time": lambda t: t.func.jacrev(t.sin, chunk_size=0)(x(t)),
    "no arguments": lambda t: t.func.jvp(lambda: 1, (), ()),
    "a number": lambda t: t.func.jvp(t.sin, (1.0,), (x(t),)),
    "a number as tangent": lambda t: t.func.jvp(t.sin, (x(t),), (1.0,)),
    "in_dims in a list": lambda t: t.vmap(t.mul, [0, 0])(x(t), x(t)),
    "in_dims in a set": lambda t: t.vmap(t.mul, {0})(x(t), x(t)),
    "in_dims as a text": lambda t: t.vmap(t.mul, "0")(x(t), x(t)),
    "too few in_dims": lambda t: t.vmap(t.mul, (0,))(x(t), x(t)),
    "in_dims of another kind": lambda t: t.vmap(lambda z: z[0], in_dims=((0, 0),))([x(t), x(t)]),
    "in_dims of a number": lambda t: t.vmap(t.mul, (0, 0))(x(t), 1),
    "no dimension": lambda t: t.vmap(t.sin)(s(t)),
    "a dimension too far": lambda t: t.vmap(t.sin, in_dims=(-2,))(x(t)),
    "out_dims as a text": lambda t: t.vmap(t.sin, out_dims="0")(x(t)),
    "a text among out_dims": lambda t: t.vmap(t.sin, out_dims=("0",))(x(t)),
    "too many out_dims": lambda t: t.vmap(t.sin, out_dims=(0, 0))(x(t)),
    "too few out_dims": lambda t: t.vmap(lambda v: (v, v), out_dims=(0,))(x(t)),
    "an out_dim too far": lambda t: t.vmap(t.sin, out_dims=3)(x(t)),
}


@pytest.mark.parametrize("name", list(CALLS))
def test_calls_are_refused(name):
    check(CALLS[name])


@pytest.mark.parametrize("dims", [0, 1, (0, 1), (1, (0, 1)), (0, [1, 0])], ids=str)
def test_places_of_results_in_structures(dims):
    def parts(library):
        m = library.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        first, (second, third) = library.vmap(
            lambda v: (
                v,
                (v * 2, v * 3)
                if not isinstance(dims, tuple) or dims != (0, [1, 0])
                else [v * 2, v * 3],
            ),
            out_dims=dims,
        )(m)
        return [tensor.tolist() for tensor in (first, second, third)]

    assert parts(flow) == parts(torch)


def test_set_state_returns_the_generator():
    generator = flow.Generator()
    assert generator.set_state(generator.get_state()) is generator
