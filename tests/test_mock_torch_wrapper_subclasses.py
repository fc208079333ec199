"""Tensors made of others, as libraries write them: parameters, copies, modes, refusals."""

from __future__ import annotations

import contextlib
import copy
import gc
import io
import pickle
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils import _python_dispatch, _pytree

from tests.in_place import dispatch_enabled, in_place_of

OURS = in_place_of("torch")
_TREES = {torch: _pytree, OURS: in_place_of("torch.utils._pytree")}
_DISPATCH = {torch: _python_dispatch, OURS: in_place_of("torch.utils._python_dispatch")}


@pytest.fixture(scope="module", autouse=True)
def _dispatch() -> Iterator[None]:
    with dispatch_enabled():
        yield


def _pair(library: Any) -> Any:
    """A class of tensors that are two, with which each operator is computed."""
    tree_map, tools = _TREES[library].tree_map, _DISPATCH[library]

    class Pair(library.Tensor):
        @staticmethod
        def __new__(cls, first, second):
            return library.Tensor._make_wrapper_subclass(
                cls,
                tuple(first.shape),
                strides=first.stride(),
                dtype=first.dtype,
                device=first.device,
                requires_grad=first.requires_grad,
            )

        def __init__(self, first, second):
            self.first, self.second = first, second

        def __repr__(self):
            return f"Pair({self.first.tolist()}, {self.second.tolist()})"

        def __tensor_flatten__(self):
            return ["first", "second"], None

        @staticmethod
        def __tensor_unflatten__(inner, context, size, stride):
            return Pair(inner["first"], inner["second"])

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            results = [
                func(*tree_map(lambda x, n=n: getattr(x, n) if isinstance(x, Pair) else x, args))
                for n in ("first", "second")
            ]
            tensors = all(isinstance(x, library.Tensor) for x in results)
            result = Pair(*results) if tensors else results[0]
            return tools.return_and_correct_aliasing(func, args, kwargs or {}, result)

    return Pair


def _pair_of(library: Any) -> Any:
    return _pair(library)(library.tensor([[1.0, 2.0]]), library.tensor([[3.0, -4.0]]))


def _trained(library: Any) -> Any:
    layer = library.nn.Linear(2, 1)
    layer.weight = library.nn.Parameter(_pair_of(library))
    layer.bias = library.nn.Parameter(library.zeros(1))
    losses = []
    for _ in range(2):
        layer.zero_grad()
        loss = layer(library.tensor([[1.0, 2.0]])).square().sum()
        loss.backward()
        losses.append(repr(loss.detach()))
        with library.no_grad():
            layer.weight.sub_(layer.weight.grad * 0.1)
    names = [name for name, _ in layer.named_parameters()]
    kinds = isinstance(layer.weight, library.nn.Parameter), type(layer.weight).__name__
    return losses, names, kinds, repr(layer.weight.grad), repr(layer.weight.detach())


def _second_derivative(library: Any) -> Any:
    x = _pair_of(library).requires_grad_()
    (grad,) = library.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = library.autograd.grad(grad.sum(), x)
    return repr(grad.detach()), repr(second)


def _accumulated(library: Any) -> Any:
    x = _pair_of(library).requires_grad_()
    for _ in range(2):
        (x * x).sum().backward()
    return repr(x.grad), x.is_leaf, x.requires_grad


def _copied(library: Any) -> Any:
    x = _pair_of(library).requires_grad_()
    other = copy.deepcopy(x)
    with library.no_grad():
        other.mul_(2)
    return repr(x.detach()), repr(other.detach()), other.requires_grad, other.is_leaf


def _views(library: Any) -> Any:
    x = _pair_of(library)
    x.t()[0] = 7
    x[0, 1] *= 2
    return repr(x), tuple(x.t().stride()), tuple(x.shape), x.is_contiguous()


def _modes(library: Any) -> Any:
    log: list[str] = []

    class Noting(_DISPATCH[library].TorchDispatchMode):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            log.append(f"{self.name} {func} {[kind.__name__ for kind in types]}")
            return func(*args, **(kwargs or {}))

    x, tools = _pair_of(library), _DISPATCH[library]
    with Noting("outer"), Noting("inner") as inner:
        x + 1
        with tools._disable_current_modes() as modes:
            x * 2
            count = len(modes), tools._get_current_dispatch_mode()
        is_inner = tools._get_current_dispatch_mode() is inner
    x - 1
    return log, count, is_inner, tools.is_in_torch_dispatch_mode()


def _replaced(library: Any) -> Any:
    """Gradients are those of the operator, whatever a mode computes in its place."""

    class Doubling(_DISPATCH[library].TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            return result * 2 if func is library.ops.aten.sin.default else result

    x = library.tensor([0.0, 1.0], requires_grad=True)
    with Doubling():
        y = x.sin()
        (grad,) = library.autograd.grad(y.sum(), x)
    return y.detach().numpy().round(4).tolist(), grad.numpy().round(4).tolist()


def _flattened(library: Any) -> Any:
    tools, x = _DISPATCH[library], _pair_of(library)
    negative = tools.transform_subclass(x, lambda name, inner: -inner)
    of_plain = tools.is_traceable_wrapper_subclass(x.first)
    return repr(negative), tools.is_traceable_wrapper_subclass(x), of_plain


def _with_default(library: Any) -> Any:
    """A tensor with values whose class notes operators, and leaves them to tensors."""
    log: list[str] = []

    class Noting(library.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs or {})

    x = library.Tensor._make_subclass(Noting, library.ones(2), True)
    loss = (x * 3).sum()
    loss.backward()
    return log[:2], type(x).__name__, x.grad.tolist()


def _not_implemented(library: Any) -> Any:
    class Silent(library.Tensor):
        @staticmethod
        def __new__(cls):
            return library.Tensor._make_wrapper_subclass(cls, (2,))

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    return Silent() + 1


def _written_leaf(library: Any) -> Any:
    return _pair_of(library).requires_grad_().add_(1)


def _without_method(library: Any) -> Any:
    class Plain(library.Tensor):
        pass

    return library.Tensor._make_wrapper_subclass(Plain, (2,))


def _schemas(library: Any) -> Any:
    aten = library.ops.aten
    add = aten.add.Tensor
    arguments = [(a.name, a.kwarg_only, a.has_default_value()) for a in add._schema.arguments]
    names = add.namespace, add.overloadpacket is aten.add, add._schema.name
    writes = [op._schema.is_mutable for op in (add, aten.add_.Tensor, aten.copy_.default)]
    return arguments, names, writes, {add: 1}[aten.add.Tensor], str(aten.view.default)


def _own_names(library: Any) -> Any:
    """A class may use names for itself that are state of tensors here."""

    class Valued(library.Tensor):
        _value = None
        _chain: list[int]

        @staticmethod
        def __new__(cls, data):
            self = library.Tensor._make_wrapper_subclass(cls, tuple(data.shape), dtype=data.dtype)
            self._data = data
            return self

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            tree_map = _TREES[library].tree_map
            return func(*tree_map(lambda x: x._data if isinstance(x, Valued) else x, args))

    x = Valued(library.ones(2))
    before, has_chain = x._value, hasattr(x, "_chain")
    x._value, x._chain = 5, [1]
    return before, has_chain, x._value, x._chain, (x + 1).tolist(), tuple(x.shape)


def _quantized(library: Any) -> Any:
    """A weight of integers and scales, with a table of the operators that it takes."""
    aten, table = library.ops.aten, {}

    class Quantized(library.Tensor):
        @staticmethod
        def __new__(cls, numbers, scale, dtype):
            return library.Tensor._make_wrapper_subclass(cls, tuple(numbers.shape), dtype=dtype)

        def __init__(self, numbers, scale, dtype):
            self.numbers, self.scale = numbers, scale

        def dequantize(self):
            return self.numbers.to(self.dtype) * self.scale

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return table[func](*args, **(kwargs or {}))

    def like(x, numbers, scale, dtype=None):
        return Quantized(numbers, scale, dtype or x.dtype)

    table[aten.detach.default] = lambda x: like(x, x.numbers, x.scale)
    table[aten.t.default] = lambda x: like(x, x.numbers.t(), x.scale.t())
    table[aten._to_copy.default] = lambda x, dtype=None, **_: like(x, x.numbers, x.scale, dtype)
    table[aten.mm.default] = lambda x, w: x.mm(w.dequantize())
    table[aten.addmm.default] = lambda b, x, w: b + x.mm(w.dequantize())
    numbers = library.tensor([[1, -2], [3, 4]], dtype=library.int8)
    weight = Quantized(numbers, library.tensor([[0.5], [0.25]]), library.float32)
    layer = library.nn.Linear(2, 2)
    layer.bias = library.nn.Parameter(library.tensor([1.0, 2.0]))
    layer.weight = library.nn.Parameter(weight, requires_grad=False)
    x = library.tensor([[1.0, 2.0]], requires_grad=True)
    result = layer(x)
    result.sum().backward()
    wide = layer.weight.double()
    kinds = type(layer.weight).__name__, isinstance(layer.weight, library.nn.Parameter)
    values = result.tolist(), x.grad.tolist(), layer.bias.grad.tolist()
    return *values, *kinds, str(wide.dtype).rpartition(".")[2], type(wide.t()).__name__


def _sorted(library: Any) -> Any:
    result = _pair_of(library).sort(1)
    return type(result).__name__, _pair_of(library).max(1).values.tolist()


PROGRAMS = {
    "own names": _own_names,
    "sorted": _sorted,
    "quantized": _quantized,
    "trained": _trained,
    "second derivative": _second_derivative,
    "accumulated": _accumulated,
    "copied": _copied,
    "views": _views,
    "modes": _modes,
    "replaced": _replaced,
    "flattened": _flattened,
    "with the default": _with_default,
    "not implemented": _not_implemented,
    "a leaf is written": _written_leaf,
    "without a method": _without_method,
    "schemas": _schemas,
}


def _outcome(program: Any, library: Any) -> Any:
    try:
        return program(library)
    except (RuntimeError, TypeError) as error:
        return type(error)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_those_of_pytorch(name: str) -> None:
    assert _outcome(PROGRAMS[name], OURS) == _outcome(PROGRAMS[name], torch)


@pytest.mark.parametrize("read", [lambda x: x.numpy(), lambda x: x.tolist(), lambda x: x._read()])
def test_wrappers_have_no_numbers(read: Any) -> None:
    with pytest.raises(NotImplementedError, match="no values of its own"):
        read(_pair_of(OURS))


def test_recorded_writes_to_wrappers_with_views_are_refused() -> None:
    x = _pair_of(OURS).requires_grad_() * 1
    view = x.t()
    for target in (x, view):
        with pytest.raises(NotImplementedError, match="views"):
            target.mul_(2)
    with OURS.no_grad():
        view.mul_(2)


class Held(OURS.Tensor):
    """A wrapper that can be pickled."""

    @staticmethod
    def __new__(cls, data):
        self = OURS.Tensor._make_wrapper_subclass(cls, data.shape, dtype=data.dtype)
        self.data_inside = data
        return self

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


def test_wrappers_are_pickled_with_what_they_hold() -> None:
    x = pickle.loads(pickle.dumps(Held(OURS.tensor([1.0, 2.0]))))
    assert (type(x), x.shape, x.data_inside.tolist()) == (Held, (2,), [1.0, 2.0])
    assert repr(x).startswith("Held(..., size=(2,)")


class Kept:
    """The class of wrappers that files name: PyTorch's while it writes, ours while we read."""


def _kept(library: Any) -> Any:
    """A class of tensors that hold another, under a name that files can refer to."""

    class Kept(library.Tensor):
        _value = None

        @staticmethod
        def __new__(cls, inner):
            kind = library.Tensor
            size, strides = tuple(inner.shape), inner.stride()
            return kind._make_wrapper_subclass(cls, size, strides=strides, dtype=inner.dtype)

        def __init__(self, inner):
            self.inner_data = inner

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            inside = [x.inner_data if isinstance(x, Kept) else x for x in args]
            result = func(*inside, **(kwargs or {}))
            return Kept(result) if isinstance(result, library.Tensor) else result

    Kept.__qualname__ = "Kept"
    return Kept


@pytest.mark.parametrize("reader", [torch, OURS])
@pytest.mark.parametrize("writer", [torch, OURS])
@pytest.mark.parametrize("is_zip", [True, False])
def test_wrappers_travel_in_files(
    monkeypatch: pytest.MonkeyPatch, writer: Any, reader: Any, is_zip: bool
) -> None:
    kinds = {library: _kept(library) for library in (torch, OURS)}
    monkeypatch.setitem(globals(), "Kept", kinds[writer])
    x = kinds[writer](writer.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).t())
    x._value = 5
    parameter = writer.nn.Parameter(x)
    file = io.BytesIO()
    saved = {"x": x, "inside": x.inner_data, "parameter": parameter}
    writer.save(saved, file, _use_new_zipfile_serialization=is_zip)
    monkeypatch.setitem(globals(), "Kept", kinds[reader])
    file.seek(0)
    read = reader.load(file, weights_only=False)
    assert (type(read["x"]), type(read["parameter"])) == (Kept, Kept)
    assert isinstance(read["parameter"], reader.nn.Parameter)
    assert (read["parameter"].requires_grad, read["x"].requires_grad) == (True, False)
    assert (tuple(read["x"].shape), read["x"].stride(), read["x"]._value) == ((3, 2), (1, 3), 5)
    read["inside"].mul_(2)
    assert read["x"].inner_data.tolist() == [[2.0, 8.0], [4.0, 10.0], [6.0, 12.0]]
    assert (read["x"] + 1).inner_data[0].tolist() == [3.0, 9.0]
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="Kept"):
        reader.load(file)
    with reader.serialization.safe_globals([kinds[reader]]):
        file.seek(0)
        assert reader.load(file)["parameter"].inner_data.shape == (3, 2)


def test_sizes_of_a_class_are_refused() -> None:
    for make in (OURS.Tensor._make_wrapper_subclass, OURS.Tensor._make_subclass):
        size = OURS.ones(2) if make is OURS.Tensor._make_subclass else (2,)
        with pytest.raises(NotImplementedError, match="dispatch_sizes_strides_policy"):
            make(_pair(OURS), size, dispatch_sizes_strides_policy="sizes")


def test_steps_of_optimizers_without_operators_are_refused() -> None:
    parameter = OURS.nn.Parameter(_pair_of(OURS))
    parameter.sum().backward()
    with pytest.raises(NotImplementedError, match="muon_update"):
        OURS.optim.Muon([parameter], 0.1).step()


def test_wrappers_go_when_nobody_holds_them() -> None:
    x = _pair_of(OURS).requires_grad_()
    y = (x * 2).exp()
    inner = weakref.ref(y.first)
    with contextlib.suppress(AttributeError):
        y.sum().backward()
    del y
    gc.collect()
    assert inner() is None


LAYERS: dict[str, Any] = {
    "linear": lambda nn: nn.Linear(8, 2),
    "convolution": lambda nn: nn.Conv2d(3, 4, 3),
    "transposed convolution": lambda nn: nn.ConvTranspose2d(3, 4, 3),
    "max pool": lambda nn: nn.MaxPool2d(2),
    "average pool": lambda nn: nn.AvgPool2d(2),
    "layer norm": lambda nn: nn.LayerNorm(8),
    "flatten": lambda nn: nn.Flatten(),
    "softmax": lambda nn: nn.Softmax(1),
    "padding": lambda nn: nn.ZeroPad2d(1),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_pytorchs_operators(name: str) -> None:
    logs: dict[Any, list[str]] = {torch: [], OURS: []}
    for library, log in logs.items():

        class Noting(_DISPATCH[library].TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None, log=log):
                log.append(str(func))
                return func(*args, **(kwargs or {}))

        layer, x = LAYERS[name](library.nn), library.ones(2, 3, 8, 8)
        with Noting():
            layer(x)
    ours, theirs = (
        [f for f in logs[library] if f != "aten.detach.default"] for library in (OURS, torch)
    )
    assert ours == theirs
    assert ours
