"""Pruning: masks, what becomes of parameters, several methods one after the other."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
import torch.nn.utils.prune  # PyTorch does not import it by itself

import oneflow as flow
from tests.nn.twins import assert_same, assert_twins_agree, copy_state, raised_by, random_array


def twins(make=lambda lib: lib.nn.Linear(4, 3)):
    """The same module in both libraries, in float64."""
    mine, theirs = (make(lib).double() for lib in (flow, torch))
    copy_state(mine, theirs)
    return mine, theirs


def assert_same_state(mine, theirs):
    assert list(mine.state_dict()) == list(theirs.state_dict())
    for name, tensor in theirs.state_dict().items():
        assert_same(mine.state_dict()[name], tensor, name)


# Pruned by both libraries to the same masks.
METHODS = {
    "identity": lambda lib, module: lib.nn.utils.prune.identity(module, "weight"),
    "l1 part": lambda lib, module: lib.nn.utils.prune.l1_unstructured(module, "weight", 0.4),
    "l1 count": lambda lib, module: lib.nn.utils.prune.l1_unstructured(module, "bias", amount=2),
    "l1 none": lambda lib, module: lib.nn.utils.prune.l1_unstructured(module, "weight", 0),
    "l1 most": lambda lib, module: lib.nn.utils.prune.l1_unstructured(module, "weight", 0.8),
    "l1 by scores": lambda lib, module: lib.nn.utils.prune.l1_unstructured(
        module, "bias", 1, importance_scores=lib.tensor([3.0, 1.0, 2.0])
    ),
    "l2 rows": lambda lib, module: lib.nn.utils.prune.ln_structured(module, "weight", 1, 2, 0),
    "l1 columns": lambda lib, module: lib.nn.utils.prune.ln_structured(
        module, "weight", 0.5, n=1, dim=-1
    ),
    "largest of columns": lambda lib, module: lib.nn.utils.prune.ln_structured(
        module, "weight", 2, n=math.inf, dim=1
    ),
    "mask": lambda lib, module: lib.nn.utils.prune.custom_from_mask(
        module, "bias", lib.tensor([0, 1, 1])
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("first", METHODS)
@pytest.mark.parametrize("second", [None, "l1 part", "l2 rows", "l1 columns"])
def test_state_values_and_gradients_are_as_in_pytorch(first, second):
    mine, theirs = twins()
    for lib, module in ((flow, mine), (torch, theirs)):
        METHODS[first](lib, module)
        if second is not None:
            METHODS[second](lib, module)
        assert lib.nn.utils.prune.is_pruned(module)
    assert_same_state(mine, theirs)
    assert_same(mine.weight, theirs.weight)
    assert_twins_agree(mine, theirs, [random_array(2, 4)])


@pytest.mark.parametrize("name", ["weight", "bias"])
def test_removal_leaves_the_pruned_values(name):
    mine, theirs = twins()
    for lib, module in ((flow, mine), (torch, theirs)):
        prune = lib.nn.utils.prune
        prune.l1_unstructured(module, name, 0.5)
        assert prune.remove(module, name) is module
        assert not prune.is_pruned(module)
    assert_same_state(mine, theirs)
    assert sorted(dict(mine.named_parameters())) == ["bias", "weight"]
    assert_twins_agree(mine, theirs, [random_array(2, 4)])


def test_random_masks_have_the_counts_of_pytorch():
    prune = flow.nn.utils.prune
    layer = flow.nn.Conv2d(4, 6, 3)
    prune.random_unstructured(layer, "weight", 0.25)
    assert layer.weight_mask.sum().item() == 6 * 4 * 9 * 0.75
    prune.random_structured(layer, "weight", amount=2, dim=0)
    left = layer.weight_mask.sum(dim=(1, 2, 3)) != 0
    assert left.sum().item() == 4
    # Slices that are gone do not count for the next method.
    prune.random_structured(layer, "weight", amount=0.5, dim=0)
    assert (layer.weight_mask.sum(dim=(1, 2, 3)) != 0).sum().item() == 2


@pytest.mark.parametrize("scored", [False, True])
def test_pruning_several_parameters_as_one(scored):
    def net(lib):
        return lib.nn.Sequential(lib.nn.Linear(4, 3), lib.nn.Linear(3, 2))

    mine, theirs = twins(net)
    numbers = [random_array(*shape, seed=seed) for seed, shape in enumerate([(3, 4), (2, 3)])]
    for lib, module in ((flow, mine), (torch, theirs)):
        prune = lib.nn.utils.prune
        prune.l1_unstructured(module[0], "weight", 2)
        weights = [(layer, "weight") for layer in module]
        scores = {key: lib.tensor(number) for key, number in zip(weights, numbers, strict=True)}
        prune.global_unstructured(
            weights, prune.L1Unstructured, scores if scored else None, amount=0.5
        )
    assert_same_state(mine, theirs)
    assert_same(mine[1].weight, theirs[1].weight)


def test_methods_without_modules():
    numbers = random_array(3, 4)
    mine, theirs = (
        lib.nn.utils.prune.LnStructured(2, 2, dim=1).prune(lib.tensor(numbers))
        for lib in (flow, torch)
    )
    assert_same(mine, theirs)


def test_the_hook_of_a_parameter_is_found_by_its_name():
    layer = flow.nn.utils.prune.l1_unstructured(flow.nn.Linear(2, 2), "bias", 1)
    flow.nn.utils.prune.random_unstructured(layer, "bias", 1)
    (hook,) = layer._forward_pre_hooks.values()
    assert hook._tensor_name == "bias"
    kinds = [type(method).__name__ for method in hook]
    assert kinds == ["L1Unstructured", "RandomUnstructured"]
    assert hook[1].amount == 1


def test_training_moves_only_what_is_left():
    layer = flow.nn.utils.prune.l1_unstructured(flow.nn.Linear(4, 2), "weight", 0.5)
    gone = (layer.weight_mask == 0).numpy()
    optimizer = flow.optim.SGD(layer.parameters(), lr=0.1)
    before = layer.weight_orig.numpy().copy()
    layer(flow.ones(3, 4)).sum().backward()
    optimizer.step()
    layer(flow.ones(3, 4))
    moved = layer.weight_orig.numpy() != before
    np.testing.assert_array_equal(moved, ~gone)
    np.testing.assert_array_equal(layer.weight.numpy()[gone], 0)


def test_a_graph_computes_the_pruned_weight():
    layer = flow.nn.utils.prune.l1_unstructured(flow.nn.Linear(4, 2), "weight", 0.5)

    class Forward(flow.nn.Graph):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def build(self, x):
            return self.layer(x)

    x = flow.tensor(random_array(3, 4).astype("float32"))
    np.testing.assert_allclose(Forward()(x).numpy(), layer(x).numpy(), rtol=1e-6)


def test_pruned_modules_are_copied_and_converted():
    layer = flow.nn.utils.prune.l1_unstructured(flow.nn.Linear(4, 2), "weight", 0.5)
    twin = copy.deepcopy(layer).double()
    assert twin.weight.dtype is flow.float64
    np.testing.assert_array_equal(twin.weight_mask.numpy(), layer.weight_mask.numpy())
    assert flow.nn.utils.prune.is_pruned(twin)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda prune, layer: prune.remove(layer, "weight"),
        lambda prune, layer: prune.L1Unstructured("many"),
        lambda prune, layer: prune.L1Unstructured(-1),
        lambda prune, layer: prune.RandomStructured(1.5),
        lambda prune, layer: prune.l1_unstructured(layer, "weight", 99),
        lambda prune, layer: prune.random_structured(layer, "weight", 1, dim=5),
        lambda prune, layer: prune.ln_structured(layer, "bias", 1, 2, dim=0),
        lambda prune, layer: prune.l1_unstructured(layer, "nothing", 1),
        lambda prune, layer: prune.global_unstructured(3, prune.L1Unstructured, amount=1),
        lambda prune, layer: prune.global_unstructured(
            [(layer, "weight")], prune.L1Unstructured, importance_scores=[1], amount=1
        ),
        lambda prune, layer: prune.global_unstructured(
            [(layer, "weight")], prune.LnStructured, amount=1, n=2
        ),
        lambda prune, layer: prune.PruningContainer().add_pruning_method(3),
        lambda prune, layer: prune.BasePruningMethod(),
    ],
)
def test_errors_are_of_pytorchs_type(misuse):
    expected = raised_by(lambda: misuse(torch.nn.utils.prune, torch.nn.Linear(4, 3)))
    with pytest.raises(expected):
        misuse(flow.nn.utils.prune, flow.nn.Linear(4, 3))


@pytest.mark.parametrize("amount", [0, 10, 15, 1, 1.0, 0.0, 0.4, 0.5])
def test_amounts_as_methods_of_programs_count_them(amount):
    mine, theirs = (
        lib.nn.utils.prune._compute_nparams_toprune(amount, 15) for lib in (flow, torch)
    )
    assert mine == theirs
    flow.nn.utils.prune._validate_pruning_amount_init(amount)
    flow.nn.utils.prune._validate_pruning_amount(amount, 15)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda prune: prune._validate_pruning_amount_init("many"),
        lambda prune: prune._validate_pruning_amount_init(1.1),
        lambda prune: prune._validate_pruning_amount_init(-10),
        lambda prune: prune._validate_pruning_amount(20, 19),
    ],
)
def test_amounts_that_methods_of_programs_may_not_have(misuse):
    with pytest.raises(raised_by(lambda: misuse(torch.nn.utils.prune))):
        misuse(flow.nn.utils.prune)


def test_norms_of_slices_as_methods_of_programs_call_them():
    weights = random_array(3, 4, 2)
    mine, theirs = (
        lib.nn.utils.prune._compute_norm(lib.tensor(weights), n=1, dim=-2) for lib in (flow, torch)
    )
    assert_same(mine, theirs)
    for lib in (flow, torch):
        with pytest.raises(ValueError, match="multidimensional"):
            lib.nn.utils.prune._validate_structured_pruning(lib.ones(3))


def test_a_container_may_have_a_name_before_it_has_methods():
    prune = flow.nn.utils.prune
    container, method = prune.PruningContainer(), prune.L1Unstructured(2)
    container._tensor_name = method._tensor_name = "weight"
    container.add_pruning_method(method)
    assert (len(container), container.target_name) == (1, "weight")


def test_what_fails_leaves_the_parameter_as_it_was():
    layer = flow.nn.Linear(4, 3)
    for scores in (flow.ones(3), flow.ones(4, 3)):
        with pytest.raises(ValueError, match=r"shape of the pruned tensor, \(3, 4\)"):
            flow.nn.utils.prune.l1_unstructured(layer, "weight", 1, importance_scores=scores)
    with pytest.raises(ValueError, match="smaller than the number"):
        flow.nn.utils.prune.l1_unstructured(layer, "weight", 13)
    assert list(layer.state_dict()) == ["weight", "bias"]
