"""Calls of modules with other parameters and buffers than their own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
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
        parameter_and_buffer_dicts: tensors by qualified name, in one dict or several. One dict gets
            the tensors that the call has put in their places, such as running statistics.
        args: positional arguments of the call; what is no tuple is the only one.
        kwargs: keyword arguments.
        tie_weights: a tensor that the module has under several names is replaced under all.
        strict: every parameter and buffer must be given, and nothing else. Otherwise other names
            are attributes during the call.

    Returns:
        What the module returns.

    Raises:
        AttributeError: a name is of a module that does not exist.
        RuntimeError: `strict` forbids the names.
        TypeError: what is given, or what it replaces, is no tensor.
        ValueError: a name is given twice, or two tensors for a tied one.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.Linear(2, 1, bias=False)
        >>> flow.func.functional_call(layer, {"weight": flow.ones(1, 2)}, flow.ones(1, 2))
        tensor([[2.]], dtype=oneflow.float32)
    """
    tensors = _merged(parameter_and_buffer_dicts)
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with reparametrized(module, tensors, tie_weights=tie_weights, strict=strict):
        result = module(*arguments, **(kwargs or {}))
    if isinstance(parameter_and_buffer_dicts, MutableMapping):
        parameter_and_buffer_dicts.update(tensors)
    return result


@contextlib.contextmanager
def reparametrized(
    module: Module,
    parameters_and_buffers: MutableMapping[str, Tensor],
    *,
    tie_weights: bool = False,
    strict: bool = False,
) -> Iterator[None]:
    """Context manager: a module has given tensors in place of its parameters and buffers.

    Args:
        module: the module; it is as before afterwards.
        parameters_and_buffers: tensors by qualified name. It gets the tensors that were put in
            their places, such as running statistics.
        tie_weights: a tensor that the module has under several names is replaced under all.
        strict: every parameter and buffer must be given, and nothing else.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.utils.stateless import reparametrized
        >>> layer = flow.nn.Linear(2, 1, bias=False)
        >>> with reparametrized(layer, {"weight": flow.ones(1, 2)}):
        ...     layer(flow.ones(1, 2)).item()
        2.0
    """
    # Modules within themselves have names without end.
    names = _names(module) if tie_weights or strict else {}
    tensors = dict(parameters_and_buffers)
    replaced = _with_shared(names, tensors) if tie_weights else tensors
    if strict:
        _check_names(names, replaced)
    with _replaced(module, replaced) as written:
        yield
    for name in tensors.keys() & written.keys():
        parameters_and_buffers[name] = written[name]


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
    kinds = sorted({type(model).__name__ for model in models})
    if len(kinds) > 1 or len({model.training for model in models}) > 1:
        raise RuntimeError(
            "stack_module_state: expected models of one class, all training or none, got "
            f"{', '.join(kinds)}"
        )
    states = [dict(model.named_parameters()) for model in models]
    parameters = _stacked(states)
    for name, stacked in parameters.items():
        requires_grad = {state[name].requires_grad for state in states}
        if len(requires_grad) > 1:
            raise RuntimeError(
                f"stack_module_state: `{name}` requires grad in some of the models only"
            )
        stacked.requires_grad_(requires_grad.pop())
    return parameters, _stacked([dict(model.named_buffers()) for model in models])


def _stacked(states: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    return {name: stack([state[name].detach() for state in states]) for name in states[0]}


def _merged(dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    merged: dict[str, Tensor] = {}
    for tensors in [dicts] if isinstance(dicts, Mapping) else dicts:
        twice = merged.keys() & tensors.keys()
        if twice:
            raise ValueError(f"functional_call: {sorted(twice)} appear in several dictionaries")
        merged.update(tensors)
    return merged


def _names(module: Module) -> dict[str, Tensor]:
    """The parameters and buffers of a module by all their names."""
    return {
        f"{path}.{name}" if path else name: tensor
        for path, submodule in module.named_modules(remove_duplicate=False)
        for registry in (submodule._parameters, submodule._buffers)
        for name, tensor in registry.items()
        if tensor is not None
    }


def _with_shared(names: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Give the value for one name of a shared tensor to all of its names."""
    given_for = {id(names[name]): name for name in tensors if name in names}
    values = dict(tensors)
    for name, tensor in names.items():
        source = given_for.get(id(tensor))
        if source is None:
            continue
        if name in tensors and tensors[name] is not tensors[source]:
            raise ValueError(
                f"functional_call got multiple values for `{source}` and `{name}`, which are tied; "
                "give one, or `tie_weights=False`"
            )
        values[name] = tensors[source]
    return values


def _check_names(names: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> None:
    unknown, missing = sorted(tensors.keys() - names.keys()), sorted(names.keys() - tensors.keys())
    problems = [f"unexpected names {unknown}"] if unknown else []
    problems += [f"missing names {missing}"] if missing else []
    if problems:
        raise RuntimeError(f"functional_call: {', '.join(problems)}")


@contextlib.contextmanager
def _replaced(module: Module, tensors: Mapping[str, Tensor]) -> Iterator[dict[str, Tensor]]:
    """Context manager: replace parameters, buffers and attributes; yields later assignments."""
    before: list[tuple[Module, str, str, Any]] = []
    written: dict[str, Tensor] = {}
    try:
        for path, tensor in tensors.items():
            prefix, _, name = path.rpartition(".")
            owner = module.get_submodule(prefix)
            before.append((owner, name, path, swap_tensor(owner, name, tensor, True)))
        yield written
    finally:
        for owner, name, path, tensor in reversed(before):
            last = swap_tensor(owner, name, tensor, True)
            if last is not tensors[path]:
                written[path] = last


_MISSING: Any = object()


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Put a tensor in the place of another one, and return that.

    Args:
        module: what has it.
        name: a parameter, buffer or attribute.
        tensor: the new one.
        allow_missing: whether there need not be one before.

    Raises:
        AttributeError: there is none before, though there must be.
        TypeError: there is or is given something else.
    """
    registry = next((r for r in (module._parameters, module._buffers) if name in r), None)
    before = getattr(module, name, _MISSING) if registry is None else registry[name]
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    for value in (tensor, before):
        if not isinstance(value, Tensor) and value is not None and value is not _MISSING:
            raise TypeError(f"functional_call: `{name}` must be a tensor, got {value!r}")
    if registry is not None and tensor is not _MISSING:
        registry[name] = tensor
    elif tensor is not _MISSING:
        setattr(module, name, tensor)
    else:
        delattr(module, name)
    return before
