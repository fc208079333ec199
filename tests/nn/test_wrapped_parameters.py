"""A law for what wraps a module: optimizers made before and after it train what PyTorch's train."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import torch.nn.utils.prune

import oneflow as flow
from tests.nn.twins import random_array

Change = Callable[[Any, Any], Any]


class Wrapper(NamedTuple):
    """Wraps a layer of a library, and unwraps it.

    Attributes:
        is_random: values depend on random numbers, so that only the parameters are compared.
        momentum: of the optimizers; it has the shape that the parameter had at first.
    """

    wrap: Change
    unwrap: Change | None = None
    is_random: bool = False
    momentum: float = 0.5


def _rule(lib: Any, forward: Callable[..., Any], right_inverse: Any = None) -> Any:
    """A parametrization of these two functions."""
    contents = {"forward": lambda self, *values: forward(*values)}
    if right_inverse is not None:
        contents["right_inverse"] = lambda self, value: right_inverse(value)
    return type("Rule", (lib.nn.Module,), contents)()


def _registered(make: Callable[[Any], Any], unsafe: bool = False) -> Change:
    return lambda lib, layer: lib.nn.utils.parametrize.register_parametrization(
        layer, "weight", make(lib), unsafe=unsafe
    )


def _removed(leave_parametrized: bool) -> Change:
    return lambda lib, layer: lib.nn.utils.parametrize.remove_parametrizations(
        layer, "weight", leave_parametrized=leave_parametrized
    )


def _parametrized(name: str, **options: Any) -> Change:
    return lambda lib, layer: getattr(lib.nn.utils.parametrizations, name)(layer, **options)


def _without_change(lib: Any) -> Any:
    return lib.nn.Identity()


def _symmetric(lib: Any) -> Any:
    return _rule(lib, lambda x: x.triu() + x.triu(1).mT, lambda x: x.triu())


def _doubled(lib: Any) -> Any:
    return _rule(lib, lambda x: x * 2, lambda x: x / 2)


def _summed(lib: Any) -> Any:
    return _rule(lib, lambda first, second: first + second, lambda x: (x / 2, x / 2))


def _from_half_of_the_columns(lib: Any) -> Any:
    return _rule(lib, lambda x: lib.cat([x, x], 1)[:, :3], lambda x: x[:, :2])


def _two(lib: Any, layer: Any) -> None:
    _registered(_doubled)(lib, layer)
    _registered(_symmetric)(lib, layer)


def _in_evaluation(lib: Any, layer: Any) -> None:
    layer.eval()
    _registered(lambda lib: lib.nn.Dropout(0.5))(lib, layer)


WRAPPERS = {
    "identity": Wrapper(_registered(_without_change), _removed(True)),
    "identity, original left": Wrapper(_registered(_without_change), _removed(False)),
    "symmetric": Wrapper(_registered(_symmetric), _removed(True)),
    "symmetric, original left": Wrapper(_registered(_symmetric), _removed(False)),
    "doubled": Wrapper(_registered(_doubled), _removed(True)),
    "two parametrizations": Wrapper(_two, _removed(True)),
    "two originals": Wrapper(_registered(_summed), _removed(True)),
    "another shape": Wrapper(_registered(_from_half_of_the_columns, unsafe=True), momentum=0.0),
    "weight norm": Wrapper(_parametrized("weight_norm"), _removed(True)),
    "spectral norm": Wrapper(_parametrized("spectral_norm"), _removed(True), is_random=True),
    "orthogonal": Wrapper(_parametrized("orthogonal"), _removed(True)),
    "orthogonal by Cayley": Wrapper(
        _parametrized("orthogonal", orthogonal_map="cayley", use_trivialization=False),
        _removed(False),
    ),
    "in evaluation": Wrapper(_in_evaluation, lambda lib, layer: layer.train(), is_random=True),
    "weight norm by a hook": Wrapper(
        lambda lib, layer: lib.nn.utils.weight_norm(layer),
        lambda lib, layer: lib.nn.utils.remove_weight_norm(layer),
    ),
    "spectral norm by a hook": Wrapper(
        lambda lib, layer: lib.nn.utils.spectral_norm(layer),
        lambda lib, layer: lib.nn.utils.remove_spectral_norm(layer),
        is_random=True,
    ),
    "pruned": Wrapper(
        lambda lib, layer: lib.nn.utils.prune.l1_unstructured(layer, "weight", amount=3),
        lambda lib, layer: lib.nn.utils.prune.remove(layer, "weight"),
    ),
    "converted": Wrapper(lambda lib, layer: layer.float(), lambda lib, layer: layer.double()),
    "moved": Wrapper(lambda lib, layer: layer.to("cpu")),
    "frozen": Wrapper(
        lambda lib, layer: layer.requires_grad_(False),
        lambda lib, layer: layer.requires_grad_(True),
    ),
    "state loaded": Wrapper(
        lambda lib, layer: layer.load_state_dict(copy.deepcopy(layer.state_dict()))
    ),
    "state assigned": Wrapper(
        lambda lib, layer: layer.load_state_dict(copy.deepcopy(layer.state_dict()), assign=True)
    ),
    "data replaced": Wrapper(
        lambda lib, layer: setattr(layer.weight, "data", layer.weight.data.clone())
    ),
    "averaged": Wrapper(lambda lib, layer: lib.optim.swa_utils.AveragedModel(layer)),
    "copied": Wrapper(lambda lib, layer: copy.deepcopy(layer)),
}
BOTH = flow.placement("cpu", [0, 1])
BROADCAST, SPLIT = flow.sbp.broadcast, flow.sbp.split(0)


class _Sharding(flow.nn.Graph):
    """A step that moves nothing, but leaves parameters as a stage of ZeRO shards them."""

    def __init__(self, layer: Any, stage: int) -> None:
        super().__init__()
        self.layer = layer
        self.add_optimizer(flow.optim.SGD(layer.parameters(), 0.0, momentum=0.5))
        self.config.enable_zero(stage=stage, shard_min_size=1, shard_restore_level=0)

    def build(self, x: Any) -> Any:
        """Train on `x`."""
        loss = self.layer(x).square().mean()
        loss.backward()
        return loss


def _only_here(change: Callable[[Any], Any]) -> Change:
    return lambda lib, layer: change(layer) if lib is flow else None


def _sharded_by(stage: int) -> Change:
    def shard(layer: Any) -> None:
        layer.to_global(BOTH, BROADCAST)
        x = flow.tensor(random_array(4, 3))
        _Sharding(layer, stage)(x.to_global(BOTH, BROADCAST).to_global(sbp=SPLIT))

    return _only_here(shard)


def _split_weight(layer: Any) -> None:
    layer.to_global(BOTH, BROADCAST)
    layer.weight.data = layer.weight.data.to_global(sbp=flow.sbp.split(1))


# Several processes, or devices, share it; PyTorch's trains on one. Momentum that is there already
# stays local, as it stays on the device when a module moves.
DISTRIBUTED = {
    "global": Wrapper(_only_here(lambda layer: layer.to_global(BOTH, BROADCAST)), momentum=0.0),
    "split": Wrapper(
        _only_here(lambda layer: layer.to_global(BOTH, BROADCAST).to_global(BOTH, SPLIT)),
        _only_here(lambda layer: layer.to_global(BOTH, BROADCAST)),
        momentum=0.0,
    ),
    "split weight": Wrapper(_only_here(_split_weight), momentum=0.0),
    **{f"ZeRO {stage}": Wrapper(_sharded_by(stage), momentum=0.0) for stage in (1, 2, 3)},
}


class Programme:
    """A layer of one library that is trained before, while and after it is wrapped.

    Attributes:
        log: per step, what is to be equal in all libraries.
    """

    def __init__(self, lib: Any, wrapper: Wrapper, layer: Any) -> None:
        self.lib, self.wrapper, self.layer = lib, wrapper, layer
        self.x = lib.tensor(random_array(4, 3))
        self.log: list[Any] = []
        self.names = {id(parameter): name for name, parameter in layer.named_parameters()}
        self.kept = list(layer.parameters())  # so that no other tensor gets one of the ids

    def optimizer(self) -> Any:
        """An optimizer of the parameters that the layer has."""
        momentum = self.wrapper.momentum
        return self.lib.optim.SGD(list(self.layer.parameters()), 0.1, momentum=momentum)

    def input(self) -> Any:
        """The input that the layer is trained on, as its parameters are."""
        x = self.x.to(self.layer.bias.dtype)
        is_global = self.lib is flow and self.layer.bias.is_global
        return x.to_global(BOTH, BROADCAST) if is_global else x

    def train(self, *optimizers: Any) -> None:
        """Two steps of each optimizer."""
        for optimizer in optimizers:
            for _ in range(2):
                optimizer.zero_grad(set_to_none=True)
                loss = (self.layer(self.input()) ** 2).mean()
                if loss.requires_grad:
                    loss.backward()
                optimizer.step()
        self._note()

    def _note(self) -> None:
        for name, parameter in self.layer.named_parameters():
            values = None if self.wrapper.is_random else parameter.detach().tolist()
            self.log.append((name, self.names.get(id(parameter)), parameter.requires_grad, values))
        self.log.append([module.training for module in self.layer.modules()])

    def run(self) -> list[Any]:
        """The whole programme."""
        before = self.optimizer()
        self.train(before)
        self.wrapper.wrap(self.lib, self.layer)
        self._note()
        after = self.optimizer()
        self.train(before, after)
        if self.wrapper.unwrap is not None:
            self.wrapper.unwrap(self.lib, self.layer)
            self._note()
            self.train(before, after, self.optimizer())
        return self.log


def _layer(lib: Any) -> Any:
    layer = lib.nn.Linear(3, 3).double()
    with lib.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(lib.tensor(random_array(*parameter.shape)))
    return layer


def _assert_alike(got: Any, expected: Any) -> None:
    """Compare nested lists with numbers in them."""
    if isinstance(expected, list | tuple):
        assert len(got) == len(expected), (got, expected)
        for mine, theirs in zip(got, expected, strict=True):
            _assert_alike(mine, theirs)
    elif isinstance(expected, float):
        assert got == pytest.approx(expected, rel=1e-5, abs=1e-7)
    else:
        assert got == expected


@pytest.mark.filterwarnings("ignore:.*weight_norm.* is deprecated:FutureWarning")
@pytest.mark.parametrize("name", [*WRAPPERS, *DISTRIBUTED])
def test_optimizers_train_what_pytorchs_train(name: str) -> None:
    check(WRAPPERS.get(name) or DISTRIBUTED[name])


def check(wrapper: Wrapper) -> None:
    """Compare a whole programme with PyTorch's."""
    got, expected = (Programme(lib, wrapper, _layer(lib)).run() for lib in (flow, torch))
    _assert_alike(got, expected)


def test_parameters_of_a_lazy_layer_are_those_that_the_optimizer_has() -> None:
    for lib in (flow, torch):
        layer = lib.nn.LazyLinear(3)
        optimizer = lib.optim.SGD(layer.parameters(), 0.5)
        weight = layer.weight
        layer(lib.ones(1, 2)).sum().backward()
        before = layer.weight.detach().clone()
        optimizer.step()
        assert layer.weight is weight
        moved = (before - layer.weight).detach().numpy()
        np.testing.assert_allclose(moved, np.full((3, 2), 0.5), rtol=1e-6)


def test_a_copy_can_lose_a_parametrization_that_the_original_keeps() -> None:
    layer = _layer(flow)
    for name in ("weight", "bias"):
        flow.nn.utils.parametrize.register_parametrization(layer, name, _doubled(flow))
    copied = copy.deepcopy(layer)
    flow.nn.utils.parametrize.remove_parametrizations(copied, "weight")
    np.testing.assert_array_equal(copied.weight.numpy(), layer.weight.numpy())
    assert sorted(dict(copied.named_parameters())) == ["parametrizations.bias.original", "weight"]
    assert "parametrizations.weight.original" in dict(layer.named_parameters())


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_an_original_of_another_dtype_is_refused(dtype: str) -> None:
    for lib in (flow, torch):
        rule = _rule(lib, lambda x: x, lambda x, lib=lib: x.to(getattr(lib, dtype)))
        with pytest.raises(ValueError, match="dtype"):
            lib.nn.utils.parametrize.register_parametrization(_layer(lib), "weight", rule)


def test_a_parameter_that_cannot_be_parametrized_stays_as_it_was() -> None:
    layer = _layer(flow)
    values, weight = layer.weight.tolist(), layer.weight
    rule = _rule(flow, lambda x: x, lambda x: x[:, :2])
    with pytest.raises(ValueError, match=r"\[3, 3\].*\[3, 2\]"):
        flow.nn.utils.parametrize.register_parametrization(layer, "weight", rule)
    assert layer.weight is weight
    assert weight.tolist() == values
    assert weight.requires_grad
