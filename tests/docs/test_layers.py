"""The documentation of layers tells true shapes, parameters and first values."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import oneflow as flow
from oneflow import nn
from tests.docs.layer_facts import Symbols, forms, formulas, is_named, same_as, section

LAYERS = {
    value.__name__: value
    for value in vars(nn).values()
    if isinstance(value, type) and issubclass(value, nn.Module)
}
CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)
# They read records: tensors of objects, and images of any size.
READERS = "oneflow.nn.modules.dataset"
_PARSER = doctest.DocTestParser()


class Call(NamedTuple):
    """A call of a layer, with the class that it had before, and what it returned."""

    layer: type[nn.Module]
    instance: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any


class Example(NamedTuple):
    """The layers that an example makes, and its calls of them."""

    made: list[tuple[type[nn.Module], nn.Module]]
    calls: list[Call]


@pytest.fixture
def run(monkeypatch):
    """Runs the example of a layer."""
    example = Example([], [])
    init, call = nn.Module.__init__, nn.Module.__call__

    def noting_init(self: nn.Module, *args: Any, **kwargs: Any) -> None:
        example.made.append((type(self), self))
        init(self, *args, **kwargs)

    def noting_call(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        layer = type(self)
        result = call(self, *args, **kwargs)
        example.calls.append(Call(layer, self, args, kwargs, result))
        return result

    def run_example(layer: type[nn.Module]) -> Example:
        example.made.clear()
        example.calls.clear()
        text = _PARSER.get_doctest(layer.__doc__ or "", {}, layer.__name__, None, None)
        doctest.DocTestRunner(verbose=False).run(text)
        return example

    monkeypatch.setattr(nn.Module, "__init__", noting_init)
    monkeypatch.setattr(nn.Module, "__call__", noting_call)
    return run_example


def tensors_of(value: Any) -> Iterator[flow.Tensor]:
    """The tensors in nested tuples."""
    if isinstance(value, flow.Tensor):
        yield value
    elif isinstance(value, tuple):
        for element in value:
            yield from tensors_of(element)


def named_tensors(call: Call, entries: dict[str, str]) -> dict[str, flow.Tensor]:
    """The arguments and results of a call by the names of the section, in its order."""
    forward = inspect.signature(type(call.instance).forward)
    given = forward.bind(call.instance, *call.args, **call.kwargs).arguments
    results = [name for name in entries if name not in forward.parameters]
    found = {name: given[name] for name in entries if isinstance(given.get(name), flow.Tensor)}
    return found | dict(zip(results, tensors_of(call.result), strict=False))


def wrong_shapes(call: Call, entries: dict[str, str]) -> Iterator[str]:
    """Describe each tensor of a call whose shape is none of those in the section."""
    tensors = named_tensors(call, entries)
    computed = {} if "output_size" in call.kwargs else formulas(entries)
    symbols = Symbols(call.instance, computed)
    for name, tensor in tensors.items():
        shape, said = tuple(tensor.shape), entries[name]
        if (other := same_as(said)) is not None:
            fits = other not in tensors or shape == tuple(tensors[other].shape)
        else:
            alternatives = forms(said)
            fits = not alternatives or any(symbols.fits(form, shape) for form in alternatives)
        if not fits:
            yield f"{name}: {shape} is not {said}"


def wrong_attributes(instance: nn.Module, entries: dict[str, str]) -> Iterator[str]:
    """Describe each attribute of a layer that the section leaves out, or of which it is wrong."""
    own = {**instance._parameters, **instance._buffers, **instance._modules}
    for name, value in own.items():
        said, symbols = is_named(name, entries), Symbols(instance, formulas(entries))
        if said is None and not name.startswith("_"):
            yield f"{name} is not named"
        elif said is not None and isinstance(value, flow.Tensor):
            shape, alternatives = tuple(value.shape), forms(said)
            if alternatives and not any(symbols.fits(form, shape) for form in alternatives):
                yield f"{name}: {shape} is not {said}"
            if name in instance._parameters and not starts_as(value, said, symbols):
                yield f"{name} does not start so: {said}"


def starts_as(parameter: flow.Tensor, said: str, symbols: Symbols) -> bool:
    """Say whether the values of a parameter are of the distribution that a text describes."""
    values = parameter.detach().flatten()
    if "at first ones" in said or "at first zeros" in said:
        return bool((values == ("ones" in said)).all())
    if "uniform" in said:
        bound, largest = symbols.value("bound"), values.abs().max().item()
        return largest <= bound * 1.0001 and (len(values) < 40 or largest > bound * 0.8)
    return True


def wrong_facts(layer: type[nn.Module], example: Example) -> Iterator[str]:
    """Describe what is wrong or missing in the documentation of a layer, by its example."""
    attributes, shape = section(layer, "Attributes"), section(layer, "Shape")
    instances = [instance for made, instance in example.made if made is layer]
    if instances and not issubclass(layer, CONTAINERS):
        yield from wrong_attributes(instances[0], attributes)
    for call in example.calls:
        if call.layer is layer and list(tensors_of((*call.args, *call.kwargs.values()))):
            yield from wrong_shapes(call, shape) if shape else ["no section `Shape:`"]


def test_documentation_of_layers_agrees_with_their_examples(sample, run):
    layers = [layer for layer in LAYERS.values() if layer.__module__ != READERS]
    wrong = {}
    for layer in sample.choose(layers, 50, "layers"):
        if found := list(wrong_facts(layer, run(layer))):
            wrong[layer.__name__] = found
    assert wrong == {}


class Scale(nn.Linear):
    """Its documentation is wrong.

    Attributes:
        weight: ``(out_features,)``, at first zeros.

    Shape:
        input: ``(*, in_features)``.
        output: ``(*, size)``, where ``size = in_features + 1``.
    """


def test_wrong_documentation_is_found():
    layer, x = Scale(2, 5), flow.ones(3, 2)
    call = Call(Scale, layer, (x,), {}, layer(x))
    assert list(wrong_facts(Scale, Example([(Scale, layer)], [call]))) == [
        "weight: (5, 2) is not ``(out_features,)``, at first zeros.",
        "weight does not start so: ``(out_features,)``, at first zeros.",
        "bias is not named",
        "output: (3, 5) is not ``(*, size)``, where ``size = in_features + 1``.",
    ]
