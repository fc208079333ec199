"""Names that PyTorch alone has, compared with PyTorch."""

from __future__ import annotations

import gc

import pytest
import torch
import torch.nn.grad
import torch.utils.weak

import oneflow as flow
from tests.in_place import in_place_of


def numbers(framework, count):
    return framework.arange(count, dtype=framework.float64)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1}, {"dilation": 2}])
def test_gradients_of_convolutions(dimensions, options):
    def gradients(framework, module):
        x = numbers(framework, 2 * 5**dimensions).reshape(1, 2, *[5] * dimensions) / 10
        weight = numbers(framework, 6 * 2**dimensions).reshape(3, 2, *[2] * dimensions) / 7
        name = f"conv{dimensions}d"
        grad = getattr(framework.nn.functional, name)(x, weight, **options).cos()
        by_input = getattr(module, f"{name}_input")(x.shape, weight, grad, **options)
        by_weight = getattr(module, f"{name}_weight")(x, weight.shape, grad, **options)
        return by_input.flatten().tolist(), by_weight.flatten().tolist()

    ours = gradients(flow, in_place_of("torch.nn.grad"))
    theirs = gradients(torch, torch.nn.grad)
    for mine, its in zip(ours, theirs, strict=True):
        assert mine == pytest.approx(its, rel=1e-4, abs=1e-4)


def test_dictionaries_that_hold_keys_weakly():
    def outcome(framework, weak):
        x, y = framework.ones(2), framework.ones(2)
        marks = weak.WeakTensorKeyDictionary({x: 1})
        marks[y] = 2
        found = [marks[x], marks[y], len(marks), x in marks, framework.ones(2) in marks]
        reference = weak.TensorWeakRef(y)
        found.append(reference() is y)
        del y
        gc.collect()
        found += [len(marks), [key is x for key in marks], reference()]
        del marks[x]
        return [*found, len(marks)]

    assert outcome(flow, in_place_of("torch.utils.weak")) == outcome(torch, torch.utils.weak)


def test_settings_of_the_top_level():
    mocked = in_place_of("torch")
    try:
        for mode in (0, "warn", "error", "default", 2):
            mocked.set_deterministic_debug_mode(mode)
            is_on = mode not in (0, "default")
            assert flow.are_deterministic_algorithms_enabled() is is_on
            assert (mocked.get_deterministic_debug_mode() > 0) is is_on
        with pytest.raises(RuntimeError, match="debug_mode"):
            mocked.set_deterministic_debug_mode("other")
    finally:
        flow.use_deterministic_algorithms(False)
    assert mocked.is_deterministic_algorithms_warn_only_enabled() is False
    before = mocked.is_warn_always_enabled()
    mocked.set_warn_always(not before)
    assert mocked.is_warn_always_enabled() is not before
    mocked.set_warn_always(before)
    assert mocked.is_storage(flow.ones(2).untyped_storage())
    assert not mocked.is_storage(flow.ones(2))
    assert mocked.GradScaler is flow.amp.GradScaler


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("sym_int", (2.7,)),
        ("sym_int", (-2.7,)),
        ("sym_float", (2,)),
        ("sym_not", (0,)),
        ("sym_max", (1, 2.0)),
        ("sym_max", (3, 2)),
        ("sym_min", (1, 2.0)),
        ("sym_sum", ((1, 2, 3),)),
        ("sym_ite", (True, 1, 2)),
    ],
)
def test_functions_of_numbers(name, arguments):
    mine, its = (getattr(module, name)(*arguments) for module in (in_place_of("torch"), torch))
    assert (type(mine), mine) == (type(its), its)


@pytest.mark.parametrize(
    "arguments",
    [
        lambda library: (("cpu",), {}),
        lambda library: ((library.float64,), {}),
        lambda library: (("cpu", library.float16, True), {}),
        lambda library: ((library.ones(1, dtype=library.int8),), {}),
        lambda library: ((), {"device": "cpu", "dtype": library.half, "non_blocking": True}),
        lambda library: ((), {}),
    ],
)
def test_arguments_of_conversions_are_read(arguments):
    outcomes = []
    for library in (torch, in_place_of("torch")):
        args, kwargs = arguments(library)
        outcomes.append([str(part) for part in library._C._nn._parse_to(*args, **kwargs)])
    ours = [outcome.replace("oneflow.", "torch.").replace(":0", "") for outcome in outcomes[1]]
    assert ours == outcomes[0]


BASES = {
    "padding": ("ConstantPad", "ReflectionPad", "ReplicationPad", "CircularPad"),
    "pooling": ("MaxPool", "MaxUnpool", "AvgPool", "LPPool", "AdaptiveMaxPool", "AdaptiveAvgPool"),
    "conv": ("Conv", "ConvTranspose"),
    "dropout": ("Dropout",),
}


@pytest.mark.parametrize("name", BASES)
def test_bases_of_layers(name):
    """Libraries name the bases of layers of one, two and three dimensions."""
    for module in (getattr(torch.nn.modules, name), in_place_of(f"torch.nn.modules.{name}")):
        for kind in BASES[name]:
            base = getattr(module, f"_{kind}Nd")
            assert all(issubclass(getattr(module, f"{kind}{n}d"), base) for n in (1, 2, 3))


def test_memory_has_values_from_the_beginning():
    module = in_place_of("torch").utils.deterministic
    assert module.fill_uninitialized_memory
    module.fill_uninitialized_memory = False
    assert not in_place_of("torch.utils.deterministic").fill_uninitialized_memory
    module.fill_uninitialized_memory = True
