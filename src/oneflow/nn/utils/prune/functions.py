"""Pruning parameters of modules, one at a time or several together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from oneflow.functional.creation.factory_functions import ones_like
from oneflow.functional.shape.concat import cat, split
from oneflow.module.module import Module
from oneflow.nn.utils.prune.base import (
    BasePruningMethod,
    PruningContainer,
    pruning_of,
    require_scores,
)
from oneflow.nn.utils.prune.methods import (
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    RandomStructured,
    RandomUnstructured,
)
from oneflow.tensor.tensor import Tensor

AnyModule = TypeVar("AnyModule", bound=Module)


def identity(module: AnyModule, name: str) -> AnyModule:
    """Register pruning of a parameter without pruning any element.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.utils.prune.identity(flow.nn.Linear(2, 3), "bias")
        >>> layer.bias_mask
        tensor([1., 1., 1.], dtype=oneflow.float32)
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: AnyModule, name: str, amount: float) -> AnyModule:
    """Take random elements of a parameter away; see `RandomUnstructured`.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.utils.prune.random_unstructured(flow.nn.Linear(2, 3), "weight", 1)
        >>> layer.weight_mask.sum().item()
        5.0
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: AnyModule, name: str, amount: float, importance_scores: Tensor | None = None
) -> AnyModule:
    """Take the smallest elements of a parameter away; see `L1Unstructured`.

    Args:
        module: has the parameter.
        name: the name of the parameter.
        amount: the number of elements, or, if it is a float, their share.
        importance_scores: what counts in place of the elements.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.utils.prune.l1_unstructured(flow.nn.Linear(2, 3), "weight", 0.5)
        >>> sorted(layer.state_dict())
        ['bias', 'weight_mask', 'weight_orig']
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: AnyModule, name: str, amount: float, dim: int) -> AnyModule:
    """Take random slices of a parameter away; see `RandomStructured`.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.utils.prune.random_structured(flow.nn.Linear(2, 3), "weight", 2, dim=0)
        >>> layer.weight_mask.sum().item()
        2.0
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: AnyModule,
    name: str,
    amount: float,
    n: float | str,
    dim: int,
    importance_scores: Tensor | None = None,
) -> AnyModule:
    """Take the slices of a parameter with the smallest norms away; see `LnStructured`.

    Args:
        module: has the parameter.
        name: the name of the parameter.
        amount: the number of slices, or, if it is a float, their share.
        n: order of the norm.
        dim: the dimension that the slices are cut along.
        importance_scores: what counts in place of the elements.

    Example:
        >>> import oneflow as flow
        >>> conv = flow.nn.utils.prune.ln_structured(flow.nn.Conv2d(3, 2, 2), "weight", 1, 1, dim=0)
        >>> conv.weight_mask.sum().item()
        12.0
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: AnyModule, name: str, mask: Tensor) -> AnyModule:
    """Take away where a mask is 0; see `CustomFromMask`.

    Example:
        >>> import oneflow as flow
        >>> mask = flow.tensor([0, 1, 0])
        >>> layer = flow.nn.utils.prune.custom_from_mask(flow.nn.Linear(2, 3), "bias", mask)
        >>> layer.bias_mask
        tensor([0., 1., 0.], dtype=oneflow.float32)
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: Mapping[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters as if they were one: some may lose more than others.

    Args:
        parameters: pairs of a module and the name of its parameter.
        pruning_method: an unstructured one.
        importance_scores: by pair, what counts in place of the elements.
        **kwargs: arguments of the method.

    Raises:
        TypeError: `parameters` or `importance_scores` are of another type, or the method is not
            unstructured.

    Example:
        >>> import oneflow as flow
        >>> prune = flow.nn.utils.prune
        >>> net = flow.nn.Sequential(flow.nn.Linear(2, 2), flow.nn.Linear(2, 2))
        >>> weights = [(layer, "weight") for layer in net]
        >>> prune.global_unstructured(weights, prune.L1Unstructured, amount=3)
        >>> sum(layer.weight_mask.sum().item() for layer in net)
        5.0
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    if importance_scores is not None and not isinstance(importance_scores, Mapping):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = list(parameters)
    given_scores: Mapping[tuple[Module, str], Tensor] = importance_scores or {}
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE is supported for the `pruning_method`, got '
            f'{pruning_method.__name__}, which is "{method.PRUNING_TYPE}"'
        )
    scores, masks = [], []
    for module, name in pairs:
        weight: Tensor = getattr(module, name).detach()
        importance = given_scores.get((module, name), weight)
        require_scores(importance, weight)
        scores.append(importance.detach().reshape(-1))
        masks.append(getattr(module, f"{name}_mask", ones_like(weight)).reshape(-1))
    mask = PruningContainer(method).compute_mask(cat(scores), cat(masks))
    parts = split(mask, [old_mask.numel() for old_mask in masks])
    for (module, name), part in zip(pairs, parts, strict=True):
        custom_from_mask(module, name, part.reshape(getattr(module, name).shape))


def remove(module: AnyModule, name: str) -> AnyModule:
    """Make a pruned tensor an ordinary parameter again; pruned elements stay zero.

    Raises:
        ValueError: it is not pruned.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.utils.prune.l1_unstructured(flow.nn.Linear(2, 3), "weight", 0.5)
        >>> sorted(flow.nn.utils.prune.remove(layer, "weight").state_dict())
        ['bias', 'weight']
    """
    pruning = pruning_of(module, name)
    if pruning is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    number, rule = pruning
    rule.remove(module)
    del module._forward_pre_hooks[number]
    return module


def is_pruned(module: Module) -> bool:
    """Return whether the module, or one below it, has a pruned parameter.

    Example:
        >>> import oneflow as flow
        >>> net = flow.nn.Sequential(flow.nn.Linear(2, 3))
        >>> layer = flow.nn.utils.prune.identity(net[0], "weight")
        >>> flow.nn.utils.prune.is_pruned(net)
        True
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for submodule in module.modules()
        for hook in submodule._forward_pre_hooks.values()
    )
