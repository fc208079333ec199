"""Conditions that programs state, and those of sizes that a compiler may not know."""

from __future__ import annotations

import pytest
import torch
import torch.fx.experimental.symbolic_shapes as torch_shapes

from tests.in_place import enabled, in_place_of

OURS = in_place_of("torch")
CHECKS = {
    "holds": lambda lib: lib._check(True),
    "fails": lambda lib: lib._check(False, lambda: "a text"),
    "a number": lambda lib: lib._check(1),
    "a tensor": lambda lib: lib._check(lib.tensor(True)),
    "no function": lambda lib: lib._check(False, "a text"),
    "index": lambda lib: lib._check_index(False, lambda: "at 3"),
    "value": lambda lib: lib._check_value(False, lambda: 3),
    "type": lambda lib: lib._check_type(False, lambda: "a type"),
    "not written": lambda lib: lib._check_not_implemented(False, lambda: "no"),
    "class": lambda lib: lib._check_with(KeyError, False, lambda: "a key"),
    "size": lambda lib: lib._check_is_size(3),
    "negative size": lambda lib: lib._check_is_size(-3, lambda: "small"),
    "large size": lambda lib: lib._check_is_size(3, lambda: "large", max=2),
    "all": lambda lib: lib._check_tensor_all(lib.tensor([True, True])),
    "not all": lambda lib: lib._check_tensor_all(lib.tensor([True, False]), lambda: "not all"),
    "no bools": lambda lib: lib._check_tensor_all(lib.tensor([1])),
    "no tensor": lambda lib: lib._check_tensor_all(True),
    "class of all": lambda lib: lib._check_tensor_all_with(
        IndexError, lib.tensor([False]), lambda: "none"
    ),
    "sizes": lambda lib: lib._shape_as_tensor(lib.ones(2, 0, 3)).tolist(),
    "close": lambda lib: lib.testing.assert_allclose(lib.ones(2), [1.0, 1.00005]),
    "far": lambda lib: lib.testing.assert_allclose(lib.ones(2), [1.0, 1.002], msg="far"),
    "of two dtypes": lambda lib: lib.testing.assert_allclose(
        lib.ones(2), lib.ones(2, dtype=lib.float64) + 5e-5
    ),
    "with a tolerance": lambda lib: lib.testing.assert_allclose(2.0, 2.1, rtol=0.1, atol=0),
}
SHAPES = {
    "or_false": lambda lib: (lib.guard_or_false(3 > 2), lib.guard_or_false(3 < 2)),
    "or_true": lambda lib: (lib.guard_or_true(3 > 2), lib.guard_or_true(3 < 2)),
    "known": lambda lib: (lib.statically_known_true(True), lib.statically_known_false(True)),
    "numbers": lambda lib: (lib.guard_int(3), lib.guard_float(2.5), lib.guard_bool(True)),
    "kinds": lambda lib: (lib.is_concrete_int(3), lib.is_concrete_bool(True), lib.is_symbolic(3)),
    "symbols": lambda lib: (list(lib.free_symbols(3)), list(lib.free_unbacked_symbols((1, 2)))),
    "any": lambda lib: lib.has_free_symbols((1, 2)),
    "equal": lambda lib: (lib.sym_eq(2, 2), lib.sym_eq((2, [3]), (2, [3])), lib.sym_eq((1,), (2,))),
    "lengths": lambda lib: lib.sym_eq((1, 2), (1,)),
    "and": lambda lib: (lib.sym_and(True, True, False), lib.sym_and(True)),
    "or": lambda lib: (lib.sym_or(False, True), lib.sym_or(False)),
}


def outcome(run):
    try:
        return run()
    except Exception as error:
        return type(error), str(error) if "cond must" not in str(error) else ""


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", CHECKS)
def test_conditions(name):
    theirs = outcome(lambda: CHECKS[name](torch))
    with enabled():
        assert outcome(lambda: CHECKS[name](OURS)) == theirs


@pytest.mark.parametrize("name", SHAPES)
def test_sizes_are_known(name):
    assert SHAPES[name](OURS.fx.experimental.symbolic_shapes) == SHAPES[name](torch_shapes)
