"""Calls of modules with other parameters and buffers than their own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oneflow.base.keyword_aliases import keyword_aliases
from oneflow.functional.shape.concat import stack
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor


@keyword_aliases(parameters_and_buffers="parameter_and_buffer_dicts")
def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with given tensors in place of its parameters and buffers.

    Args:
        module: the module; it is as before afterwards.
        parameter_and_buffer_dicts: tensors by qualified name, in one dict or several.
        args: positional arguments of the call; what is no tuple is the only one.
        kwargs: keyword arguments.
        tie_weights: a tensor that the module has under several names is replaced under all.
        strict: every parameter and buffer must be given.

    Returns:
        What the module returns.

    Raises:
        RuntimeError: unknown names, or with `strict` missing ones.
        ValueError: a name is given twice.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.Linear(2, 1, bias=False)
        >>> flow.func.functional_call(layer, {"weight": flow.ones(1, 2)}, flow.ones(1, 2))
        tensor([[2.]], dtype=oneflow.float32)
    """
    given = _merged(parameter_and_buffer_dicts)
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, given, tie_weights, strict):
        return module(*arguments, **(kwargs or {}))


def stack_module_state(
    models: Sequence[Module],
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the parameters and the buffers of models of one kind, stacked by name.

    With `vmap` and `functional_call` they run as one model, an ensemble.

    Args:
        models: modules of one class with the same shapes.

    Returns:
        Two dictionaries of tensors with a further first dimension, as long as `models`; those of
        parameters are leaves that require grad where the parameters do.

    Raises:
        RuntimeError: there are no models, or they differ in class, in training mode or in which
            parameters require grad.

    Example:
        >>> import oneflow as flow
        >>> models = [flow.nn.Linear(2, 3) for _ in range(4)]
        >>> parameters, buffers = flow.func.stack_module_state(models)
        >>> parameters["weight"].shape
        oneflow.Size([4, 3, 2])
    """
    if not models:
        raise RuntimeError("stack_module_state: expected at least one model, got 0")
    kinds = sorted({type(each).__name__ for each in models})
    if len(kinds) > 1 or len({each.training for each in models}) > 1:
        raise RuntimeError(
            "stack_module_state: expected models of one class, all training or none, got "
            f"{', '.join(kinds)}"
        )
    given = [dict(each.named_parameters()) for each in models]
    parameters = _stacked(given)
    for name, stacked in parameters.items():
        requires_grad = {each[name].requires_grad for each in given}
        if len(requires_grad) > 1:
            raise RuntimeError(
                f"stack_module_state: `{name}` requires grad in some of the models only"
            )
        stacked.requires_grad_(requires_grad.pop())
    return parameters, _stacked([dict(each.named_buffers()) for each in models])


def _stacked(states: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    return {name: stack([each[name].detach() for each in states]) for name in states[0]}


def _merged(dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    merged: dict[str, Tensor] = {}
    for each in [dicts] if isinstance(dicts, Mapping) else dicts:
        twice = merged.keys() & each.keys()
        if twice:
            raise ValueError(f"functional_call: {sorted(twice)} appear in several dictionaries")
        merged.update(each)
    return merged


@contextlib.contextmanager
def _replaced(
    module: Module, given: Mapping[str, Tensor], tie_weights: bool, strict: bool
) -> Iterator[None]:
    """Replace parameters and buffers, for a while."""
    places = [
        (f"{path}.{name}" if path else name, registry, name)
        for path, each in module.named_modules()
        for registry in (each._parameters, each._buffers)
        for name in registry
        if registry[name] is not None
    ]
    names = {place[0] for place in places}
    unknown, missing = sorted(given.keys() - names), sorted(names - given.keys())
    if not strict:
        missing = []
    if unknown or missing:
        raise RuntimeError(f"functional_call: unexpected names {unknown}, missing names {missing}")
    by_tensor = {
        id(registry[name]): given[path] for path, registry, name in places if path in given
    }
    before = [(registry, name, registry[name]) for _, registry, name in places]
    try:
        for path, registry, name in places:
            if path in given:
                registry[name] = given[path]
            elif tie_weights and id(registry[name]) in by_tensor:
                registry[name] = by_tensor[id(registry[name])]
        yield
    finally:
        for registry, name, tensor in before:
            registry[name] = tensor
