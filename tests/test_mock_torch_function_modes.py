"""Modes, and the order in which classes are asked: the same programs here and in PyTorch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from tests.in_place import in_place_of, module_of, overrides_enabled

OURS = in_place_of("torch")
_FUNCTIONS: tuple[Callable[[Any], Any], ...] = (
    lambda x: x.ones(2),
    lambda x: x.tensor([1.0]),
    lambda x: x.as_tensor([1.0]),
    lambda x: x.empty(2),
    lambda x: x.arange(3),
    lambda x: x.randn(3),
    lambda x: x.full((2,), 1.0),
    lambda x: x.eye(2).to_sparse(),
    lambda x: x.special.erf(x.ones(2)),
    lambda x: x.fft.fft(x.ones(2)),
    lambda x: x.add(x.ones(2), 1),
    lambda x: x.ones(2) + 1,
    lambda x: 1 - x.ones(2),
    lambda x: x.ones(2).sum(),
    lambda x: x.ones(2)[0],
    lambda x: x.cat([x.ones(2), x.ones(1)]),
    lambda x: x.nn.functional.relu(x.ones(2)),
    lambda x: x.linalg.norm(x.ones(2)),
    lambda x: x.is_tensor(x.ones(2)),
    lambda x: x.ones(1, requires_grad=True).backward(),
    lambda x: x.ones(2) ** 2,
    lambda x: 2 ** x.ones(2),
    lambda x: x.ones(2).__ipow__(2),
    lambda x: 2 / x.ones(2),
    lambda x: x.ones(2).multiply(2),
    lambda x: x.ones(2).arctan2(x.ones(2)),
    lambda x: x.ones(2, 2).swapaxes(0, 1),
    lambda x: x.ones(2).where(x.ones(2) > 0, x.ones(2)),
    lambda x: x.ones(2).polygamma(1),
    lambda x: x.ones(2).clip(0),
)


@pytest.fixture(scope="module", autouse=True)
def _overrides() -> Iterator[None]:
    with overrides_enabled():
        yield


def _names(library: Any, log: list[str], answer: Any = None) -> Any:
    class Names(library.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append(func.__name__)
            return func(*args, **(kwargs or {})) if answer is None else answer

    return Names()


@pytest.mark.parametrize("index", range(len(_FUNCTIONS)))
def test_a_mode_sees_what_a_program_calls(index: int) -> None:
    logs: dict[Any, list[str]] = {torch: [], OURS: []}
    for library, log in logs.items():
        with _names(library, log):
            _FUNCTIONS[index](library)
    assert logs[OURS] == logs[torch]


def _nested(library: Any) -> Any:
    log: list[str] = []
    with _names(library, log) as outer, _names(library, log) as inner, outer:
        library.ones(1)
        stack = library.overrides._get_current_function_mode_stack()
        return log, [stack[0] is outer, stack[1] is inner, stack[2] is outer]


def _again(library: Any) -> Any:
    log = []

    class Negating(library.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append(func.__name__)
            if func is library.sub:
                with self:
                    return library.add(*args, alpha=-1)
            return func(*args, **(kwargs or {}))

    x = library.ones(1)
    with Negating():
        return library.sub(x, x).item(), log


def _not_implemented(library: Any) -> Any:
    class Silent(library.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            own = any(kind is not library.Tensor for kind in types)
            return NotImplemented if own else func(*args, **(kwargs or {}))

    class Own(library.Tensor):
        pass

    x = library.ones(2).as_subclass(Own)
    with Silent():
        return type(library.neg(x)).__name__


def _class_method(library: Any) -> Any:
    class Wrong(library.overrides.TorchFunctionMode):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args)

    with Wrong():
        return library.ones(1)


def _switched_off(library: Any) -> Any:
    log: list[str] = []
    with _names(library, log), library._C.DisableTorchFunction():
        library.ones(1)
    with _names(library, log), library._C.DisableTorchFunctionSubclass():
        library.zeros(1)
    return log, library.overrides.has_torch_function((1,))


def _entered_where_switched_off(library: Any) -> Any:
    log: list[str] = []
    mode, stack = _names(library, log), library._C
    with _names(library, log), stack.DisableTorchFunction():
        counts = [stack._len_torch_function_stack()]
        with mode:
            library.ones(1)
            counts.append(stack._len_torch_function_stack())
            is_enabled = stack._is_torch_function_mode_enabled()
            is_innermost = stack._pop_torch_function_stack() is mode
            stack._push_on_torch_function_stack(mode)
    library.zeros(1)
    return log, counts, is_enabled, is_innermost


def _switched_on_again(library: Any) -> Any:
    log: list[str] = []
    with _names(library, log):
        with library._C.DisableTorchFunction():
            with library._C.DisableTorchFunctionSubclass():
                library.zeros(1)
            guard = library._C._EnableTorchFunction()
            library.ones(1)
            del guard
            library.zeros(1)
        library.full((1,), 1)
    return log


def _uninitialized(library: Any) -> Any:
    parameter = library.nn.parameter.UninitializedParameter()
    for program in (list, len, lambda x: x.unbind(0), lambda x: x.backward(), lambda x: x * 2):
        with pytest.raises(ValueError, match="uninitialized"):
            program(parameter)
        with _names(library, []), pytest.raises(ValueError, match="uninitialized"):
            program(parameter)


def _another_thread(library: Any) -> Any:
    log: list[str] = []
    with _names(library, log):
        thread = threading.Thread(target=library.ones, args=(1,))
        thread.start()
        thread.join()
    return log


def _function_of_a_program(library: Any) -> Any:
    def double(x):
        if library.overrides.has_torch_function_unary(x):
            return library.overrides.handle_torch_function(double, (x,), x)
        return x * 2

    log: list[str] = []
    with _names(library, log, answer=-1):
        return double(3), log


def _order(library: Any) -> Any:
    def answering(name, *bases):
        def answer(cls, func, types, args=(), kwargs=None):
            return name

        return type(name, bases, {"__torch_function__": classmethod(answer)})

    first, own = answering("First"), answering("Own", library.Tensor)
    second, derived = answering("Second"), answering("Derived", first)
    x = library.ones(1).as_subclass(own)
    pairs = [(first(), x), (x, first()), (second(), first()), (first(), derived()), (x, derived())]
    return [library.mm(*pair) for pair in pairs]


def _enabled_again(library: Any) -> Any:
    class Own(library.Tensor):
        pass

    x = library.ones(2).as_subclass(Own)
    with library._C.DisableTorchFunctionSubclass():
        guard = library._C._EnableTorchFunction()
        inside = type(x + 1).__name__
        del guard
        return inside, type(x + 1).__name__


PROGRAMS = {
    "nested": _nested,
    "asked again within": _again,
    "not implemented": _not_implemented,
    "a class method": _class_method,
    "switched off": _switched_off,
    "entered where switched off": _entered_where_switched_off,
    "switched on again": _switched_on_again,
    "uninitialized": _uninitialized,
    "another thread": _another_thread,
    "a function of the program": _function_of_a_program,
    "the order of classes": _order,
    "enabled again": _enabled_again,
    "iteration": lambda x: {type(y) is not x.Tensor for y in x.ones(3).as_subclass(_kind(x))},
    "base": lambda x: _within(x.overrides.BaseTorchFunctionMode(), lambda: x.ones(1).item()),
    "without a method": lambda x: _within(x.overrides.TorchFunctionMode(), lambda: x.ones(1)),
    "pop of none": lambda x: x.overrides._pop_mode(),
    "no sequence": lambda x: x.overrides.has_torch_function(3),
    "a device": lambda x: str(_set_device(x, "meta")(lambda: x.ones(1).device)()),
    "equal modes": lambda x: [_all_same_mode(x, [1, 1]), _all_same_mode(x, [1, 2])],
}


def _within(context: Any, program: Callable[[], Any]) -> Any:
    with context:
        return program()


def _set_device(library: Any, device: str) -> Any:
    return module_of(library, "torch.utils._device").set_device(device)


def _all_same_mode(library: Any, modes: list) -> Any:
    return module_of(library, "torch.utils._mode_utils").all_same_mode(modes)


def _kind(library: Any) -> Any:
    return type("Own", (library.Tensor,), {})


def _outcome(program: Callable[[Any], Any], library: Any) -> Any:
    try:
        return program(library)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("name", PROGRAMS)
def test_modes_are_as_in_pytorch(name: str) -> None:
    assert _outcome(PROGRAMS[name], OURS) == _outcome(PROGRAMS[name], torch)


def test_paths_of_functions_lead_to_them() -> None:
    tools = OURS.overrides
    for functions in tools.get_overridable_functions().values():
        for function in functions[::7]:
            assert eval(tools.resolve_name(function), {"torch": OURS}) is function
    assert not tools.get_ignored_functions() & {OURS.add, OURS.nn.functional.relu}
    assert tools.is_tensor_method_or_property(OURS.Tensor.add)
    assert not tools.is_tensor_method_or_property(OURS.nn.functional.linear)


def _accesses(library: Any, program: Callable[[Any], Any]) -> list[str]:
    """Names of functions that a mode sees, and of properties with their access."""
    names = {}
    for name in ("shape", "dtype", "grad", "T", "ndim", "requires_grad", "data", "grad_fn"):
        for access in ("__get__", "__set__"):
            names[getattr(getattr(library.Tensor, name), access)] = f"{name}.{access}"
    log: list[str] = []

    class Accesses(library.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append(names.get(func, func.__name__))
            return func(*args, **(kwargs or {}))

    with Accesses():
        program(library)
    return log


def _leaf(library: Any) -> Any:
    return library.ones(2, 3, requires_grad=True)


ACCESSES: dict[str, Callable[[Any], Any]] = {
    "shape": lambda x: _leaf(x).shape,
    "dtype": lambda x: _leaf(x).dtype,
    "T": lambda x: _leaf(x).T.ndim,
    "grad": lambda x: _leaf(x).grad,
    "a gradient": lambda x: setattr(_leaf(x), "grad", x.ones(2, 3)),
    "requires_grad": lambda x: setattr(x.ones(1), "requires_grad", True),
    "data": lambda x: setattr(_leaf(x), "data", x.zeros(2, 3)),
    "autograd.grad": lambda x: (lambda w: x.autograd.grad(w.sum(), w))(_leaf(x)),
    "autograd.backward": lambda x: x.autograd.backward(_leaf(x).sum()),
    "backward": lambda x: _leaf(x).sum().backward(),
}
LAYERS: dict[str, Callable[[Any], Any]] = {
    "linear": lambda nn: nn.Linear(8, 2),
    "convolution": lambda nn: nn.Conv2d(3, 4, 3),
    "transposed convolution": lambda nn: nn.ConvTranspose2d(3, 4, 3),
    "layer norm": lambda nn: nn.LayerNorm(8),
    "relu": lambda nn: nn.ReLU(),
    "softmax": lambda nn: nn.Softmax(1),
    "max pool": lambda nn: nn.MaxPool2d(2),
    "average pool": lambda nn: nn.AvgPool2d(2),
    "adaptive pool": lambda nn: nn.AdaptiveAvgPool2d(1),
    "dropout": lambda nn: nn.Dropout(0.5),
    "several": lambda nn: nn.Sequential(nn.Conv2d(3, 4, 3), nn.GELU(), nn.Flatten()),
}


@pytest.mark.parametrize("name", ACCESSES)
def test_modes_see_properties_and_derivatives(name: str) -> None:
    assert _accesses(OURS, ACCESSES[name]) == _accesses(torch, ACCESSES[name])


@pytest.mark.parametrize("name", LAYERS)
def test_modes_see_what_layers_call(name: str) -> None:
    logs: dict[Any, list[str]] = {torch: [], OURS: []}
    for library, log in logs.items():
        layer, x = LAYERS[name](library.nn), library.ones(2, 3, 8, 8)
        with _names(library, log):
            layer(x)
    assert logs[OURS] == logs[torch]
