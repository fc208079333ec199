"""Functions of users need not be hashable: an object of a dataclass with `__call__` will do."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from tests.in_place import enabled, in_place_of

OURS = in_place_of("torch")


@dataclass
class Function:
    """Calls a function; it is equal to another by its field, and has no hash."""

    function: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def _loader(lib: Any, **options: Any) -> Any:
    rows = lib.utils.data.TensorDataset(lib.arange(4.0))
    return [lib.utils.data.default_collate(b) for b in lib.utils.data.DataLoader(rows, **options)]


def _hooked_layer(lib: Any) -> Any:
    layer, seen = lib.nn.Linear(1, 1, bias=False), []
    lib.nn.init.ones_(layer.weight)
    layer.register_forward_pre_hook(Function(lambda module, args: seen.append("before")))
    layer.register_forward_hook(Function(lambda module, args, result: result * 3))
    layer.register_full_backward_hook(Function(lambda module, ins, outs: seen.append("back")))
    layer.weight.register_hook(Function(lambda grad: grad * 2))
    layer(lib.ones(2, 1, requires_grad=True)).sum().backward()
    return layer.weight.grad, seen


def _closure(lib: Any) -> Any:
    weight = lib.nn.Parameter(lib.ones(2))
    optimizer = lib.optim.LBFGS([weight], lr=0.5, max_iter=2)
    optimizer.register_step_post_hook(Function(lambda *args: None))

    def loss() -> Any:
        optimizer.zero_grad()
        value = (weight**2).sum()
        value.backward()
        return value

    optimizer.step(Function(loss))
    return weight


def _schedule(lib: Any) -> Any:
    optimizer = lib.optim.SGD([lib.nn.Parameter(lib.ones(1))], lr=1.0)
    schedule = lib.optim.lr_scheduler.LambdaLR(optimizer, Function(lambda step: 0.5**step))
    optimizer.step()
    schedule.step()
    return lib.tensor(schedule.get_last_lr())


def _saved(lib: Any) -> Any:
    file = io.BytesIO()
    lib.save(lib.arange(3), file)
    file.seek(0)
    return lib.load(file, map_location=Function(lambda storage, place: storage))


def _saved_tensors(lib: Any) -> Any:
    x = lib.ones(2, requires_grad=True)
    pack, unpack = Function(lambda t: t.detach().clone()), Function(lambda t: t * 2)
    with lib.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (x * x).sum()
    y.backward()
    return x.grad


SQUARE = Function(lambda x: (x**2).sum())
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "collate": lambda lib: _loader(lib, batch_size=2, collate_fn=Function(lambda rows: rows[0])),
    "collate one": lambda lib: _loader(lib, batch_size=None, collate_fn=Function(lambda row: row)),
    "hooks": _hooked_layer,
    "closure": _closure,
    "schedule": _schedule,
    "load": _saved,
    "saved tensors": _saved_tensors,
    "checkpoint": lambda lib: lib.utils.checkpoint.checkpoint(
        SQUARE, lib.ones(2, requires_grad=True), use_reentrant=False
    ),
    "grad": lambda lib: lib.func.grad(SQUARE)(lib.ones(2)),
    "vmap": lambda lib: lib.vmap(SQUARE)(lib.ones(2, 3)),
    "jacrev": lambda lib: lib.func.jacrev(SQUARE)(lib.ones(2)),
    "jacfwd": lambda lib: lib.func.jacfwd(SQUARE)(lib.ones(2)),
    "hessian": lambda lib: lib.func.hessian(SQUARE)(lib.ones(2)),
    "vjp": lambda lib: lib.func.vjp(SQUARE, lib.ones(2))[0],
    "linearize": lambda lib: lib.func.linearize(SQUARE, lib.ones(2))[0],
    "jacobian": lambda lib: lib.autograd.functional.jacobian(SQUARE, lib.ones(2)),
    "gradcheck": lambda lib: lib.autograd.gradcheck(
        SQUARE, (lib.ones(2, dtype=lib.float64, requires_grad=True),)
    ),
    "tree": lambda lib: lib.utils._pytree.tree_map(Function(lambda x: x + 1), [lib.ones(1)]),
    "module apply": lambda lib: lib.nn.ReLU().apply(Function(lambda module: None)).training,
}


def _numbers(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_numbers(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node")
@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_that_have_no_hash(name: str) -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(SQUARE)
    with enabled():
        ours = _numbers(PROGRAMS[name](OURS))
    assert ours == _numbers(PROGRAMS[name](torch))
