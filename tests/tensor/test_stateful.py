"""Random sequences of views, writes, detach and backward, beside PyTorch."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import hypothesis.strategies as st
import numpy as np
import torch
from hypothesis import HealthCheck, Phase, note, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import oneflow as flow
from tests.oracle import eager_mode

MAX_LIVE = 6
EXAMPLES = int(os.environ.get("STATEFUL_EXAMPLES", "200"))
STEPS = int(os.environ.get("STATEFUL_STEPS", "24"))

# A few shapes only, so that operations compile once: (2, 3) and what its views have. `data` is
# not among them: what was written through it PyTorch's backward silently uses, OneFlow's does not.
VIEWS: dict[str, Callable] = {
    "flatten": lambda x: x.view(-1),
    "reshape": lambda x: x.reshape(-1),
    "transpose": lambda x: x.T if x.ndim == 2 else x.unsqueeze(0),
    "first": lambda x: x[0],
    "last": lambda x: x[-1],
    "tail": lambda x: x[..., 1:],
    "every second": lambda x: x[..., ::2],
    "column": lambda x: x[:, 1],
    "narrow": lambda x: x.narrow(0, 0, 1),
    "new axis": lambda x: x[None],
    "squeeze": lambda x: x.squeeze(),
    "diagonal": lambda x: x.diagonal(),
    "expand": lambda x: x.expand(2, *x.shape),
    "windows": lambda x: x.unfold(-1, 2, 1),
    "whole": lambda x: x[...],
    "detach": lambda x: x.detach(),
}
# Functions whose results are new memory; they save operands, outputs or nothing for backward.
FUNCTIONS: dict[str, Callable] = {
    "clone": lambda x: x.clone(),
    "double": lambda x: x * 2.0,
    "square": lambda x: x * x,
    "sin": lambda x: x.sin(),
    "tanh": lambda x: x.tanh(),
    "sum": lambda x: x.sum(),
    "plus one": lambda x: x + 1.0,
}
WRITES: dict[str, Callable] = {
    "add_": lambda x: x.add_(0.5),
    "mul_": lambda x: x.mul_(0.5),
    "neg_": lambda x: x.neg_(),
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(0.25),
    "tanh_": lambda x: x.tanh_(),
    "sin_": lambda x: x.sin_(),
    "first = 2": lambda x: x.__setitem__(0, 2.0),
    "all = 3": lambda x: x.__setitem__(Ellipsis, 3.0),
    "tail = 1.5": lambda x: x.__setitem__((..., slice(1, None)), 1.5),
    "negative = 0": lambda x: x.__setitem__(x < 0, 0.0),
    "shift": lambda x: x.__setitem__(slice(1, None), x[:-1].clone()),
    "iadd": lambda x: x.__iadd__(x),
}
WRITES_OF_OTHER: dict[str, Callable] = {
    "add_": lambda x, y: x.add_(y),
    "mul_": lambda x, y: x.mul_(y),
    "copy_": lambda x, y: x.copy_(y),
    "all = other": lambda x, y: x.__setitem__(Ellipsis, y),
    "first = other": lambda x, y: x.__setitem__(0, y),
    "last of view = other": lambda x, y: x[..., -1].__setitem__(Ellipsis, y),
}
INDEX_WRITES: dict[str, Callable] = {
    "rows": lambda lib, x: x.__setitem__(lib.tensor([0, -1]), 0.75),
    "rows of rows": lambda lib, x: x.__setitem__(lib.tensor([-1]), x[lib.tensor([0])]),
    "accumulate": lambda lib, x: x.index_add_(
        0, lib.tensor([0, 0]), lib.ones(2, *x.shape[1:], dtype=lib.float64)
    ),
    "masked_fill_": lambda lib, x: x.masked_fill_(x > 0.5, -1.0),
}


@dataclass
class Pair:
    """One tensor in both libraries.

    Attributes:
        mine: OneFlow's.
        theirs: PyTorch's.
        expanded: several elements may lie in one place: PyTorch refuses some writes to it, and lets
            the order decide for others.
    """

    mine: Any
    theirs: Any
    expanded: bool = False


def _outcome(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return call(), None
    except Exception as error:
        return None, error


def _one_memory(x: torch.Tensor, y: torch.Tensor) -> bool:
    return x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()


class Twins(RuleBasedStateMachine):
    """Tensors that live in both libraries and must stay equal."""

    def __init__(self) -> None:
        super().__init__()
        self.live: list[Pair] = []
        self._mode = contextlib.ExitStack()
        self._mode.enter_context(eager_mode("cold"))

    def teardown(self) -> None:
        self._mode.close()

    def _both(self, mine: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[Any, Any] | None:
        """Do the same in both; None if both raise."""
        y, their_error = _outcome(theirs)
        x, my_error = _outcome(mine)
        if (my_error is None) != (their_error is None):
            raise AssertionError(f"mine: {my_error!r}, torch: {their_error!r}")
        if my_error is not None:
            expected = next(c for c in type(their_error).__mro__ if c.__module__ == "builtins")
            assert isinstance(my_error, expected), f"mine: {my_error!r}, torch: {their_error!r}"
            return None
        return x, y

    def _keep(self, pair: tuple[Any, Any] | None, expanded: bool = False) -> None:
        if pair is None or any(pair[0] is twin.mine for twin in self.live):
            return
        if len(self.live) >= MAX_LIVE:
            del self.live[1]
        self.live.append(Pair(*pair, expanded))

    def _pick(self, data: st.DataObject, label: str = "tensor") -> Pair:
        return self.live[data.draw(st.integers(0, len(self.live) - 1), label=label)]

    @initialize(requires_grad=st.booleans())
    def start(self, requires_grad: bool) -> None:
        self.new_leaf(requires_grad)

    @rule(requires_grad=st.booleans())
    def new_leaf(self, requires_grad: bool) -> None:
        values = np.arange(6.0).reshape(2, 3) / 4 - 0.5 + len(self.live) / 8
        mine = flow.tensor(values, requires_grad=requires_grad)
        self._keep((mine, torch.tensor(values, requires_grad=requires_grad)))

    @rule(data=st.data(), name=st.sampled_from(sorted(VIEWS)))
    def make_view(self, data: st.DataObject, name: str) -> None:
        pair = self._pick(data)
        if pair.mine.ndim > 2 or pair.mine.numel() > 12:
            return
        made = self._both(lambda: VIEWS[name](pair.mine), lambda: VIEWS[name](pair.theirs))
        self._keep(made, pair.expanded or name in ("expand", "windows"))

    @rule(data=st.data(), name=st.sampled_from(sorted(FUNCTIONS)))
    def compute(self, data: st.DataObject, name: str) -> None:
        pair = self._pick(data)
        # PyTorch lays results out as a transposed operand, and cannot view those in rows.
        theirs = lambda: FUNCTIONS[name](pair.theirs).contiguous()  # noqa: E731
        self._keep(self._both(lambda: FUNCTIONS[name](pair.mine), theirs))

    @rule(data=st.data())
    def add(self, data: st.DataObject) -> None:
        x, y = self._pick(data), self._pick(data)
        if x.mine.shape == y.mine.shape:
            theirs = lambda: (x.theirs * y.theirs).contiguous()  # noqa: E731
            self._keep(self._both(lambda: x.mine * y.mine, theirs))

    def _write(self, name: str, grad: bool, mine: Callable, theirs: Callable) -> None:
        with flow.set_grad_enabled(grad), torch.set_grad_enabled(grad):
            done = self._both(mine, theirs)
        note(f"{name}: {'raised' if done is None else 'done'}")

    @rule(data=st.data(), name=st.sampled_from(sorted(WRITES)), grad=st.booleans())
    def write(self, data: st.DataObject, name: str, grad: bool) -> None:
        pair = self._pick(data)
        if not pair.expanded:
            action = WRITES[name]
            self._write(name, grad, lambda: action(pair.mine), lambda: action(pair.theirs))

    @rule(data=st.data(), name=st.sampled_from(sorted(WRITES_OF_OTHER)), grad=st.booleans())
    def write_other(self, data: st.DataObject, name: str, grad: bool) -> None:
        x, y = self._pick(data), self._pick(data, "other")
        # OneFlow lets programs copy into parameters.
        refused = name == "copy_" and x.theirs.is_leaf and x.theirs.requires_grad
        if not x.expanded and not refused:
            action = WRITES_OF_OTHER[name]
            if x is not y and _one_memory(x.theirs, y.theirs):
                # PyTorch refuses overlapping operands when it notices, else the order decides.
                y = Pair(y.mine.clone(), y.theirs.clone())
            self._write(
                name, grad, lambda: action(x.mine, y.mine), lambda: action(x.theirs, y.theirs)
            )

    @rule(data=st.data(), name=st.sampled_from(sorted(INDEX_WRITES)), grad=st.booleans())
    def write_index(self, data: st.DataObject, name: str, grad: bool) -> None:
        pair = self._pick(data)
        if not pair.expanded and pair.mine.ndim and pair.mine.numel():
            action = INDEX_WRITES[name]
            self._write(
                name, grad, lambda: action(flow, pair.mine), lambda: action(torch, pair.theirs)
            )

    @rule(data=st.data())
    def split(self, data: st.DataObject) -> None:
        """Parts made together are views as well; PyTorch forbids writing to them with gradients."""
        pair = self._pick(data)
        if (
            pair.expanded
            or not pair.mine.ndim
            or any(twin.mine.requires_grad for twin in self.live)
        ):
            return
        parts = self._both(lambda: pair.mine.split(1), lambda: pair.theirs.split(1))
        if parts is not None and parts[0]:
            mine, theirs = (part[-1].mul_(-1.5) for part in parts)
            np.testing.assert_allclose(mine.numpy(), theirs.numpy(), 1e-9)

    @precondition(lambda self: any(twin.mine.requires_grad for twin in self.live))
    @rule(data=st.data())
    def backward(self, data: st.DataObject) -> None:
        able = [twin for twin in self.live if twin.mine.requires_grad]
        pair = able[data.draw(st.integers(0, len(able) - 1))]
        done = self._both(
            lambda: (pair.mine * 0.5).sum().backward(retain_graph=True) or 1,
            lambda: (pair.theirs * 0.5).sum().backward(retain_graph=True) or 1,
        )
        if done is None:
            # The gradients added before the error depend on the order of the walk.
            for live in self.live:
                live.mine.grad = live.theirs.grad = None

    @rule()
    def forget_gradients(self) -> None:
        for twin in self.live:
            if twin.mine.is_leaf:
                twin.mine.grad = twin.theirs.grad = None

    @invariant()
    def they_are_equal(self) -> None:
        for index, pair in enumerate(self.live):
            mine, theirs = pair.mine, pair.theirs
            where = f"tensor {index}"
            assert tuple(mine.shape) == tuple(theirs.shape), where
            assert mine.requires_grad == theirs.requires_grad, where
            assert mine.is_leaf == theirs.is_leaf, where
            np.testing.assert_allclose(
                mine.numpy(), theirs.detach().numpy(), 1e-9, 1e-12, err_msg=where
            )
            if theirs.is_leaf:
                assert (mine.grad is None) == (theirs.grad is None), f"{where}: gradient"
                if theirs.grad is not None:
                    np.testing.assert_allclose(
                        mine.grad.numpy(), theirs.grad.numpy(), 1e-9, 1e-12, err_msg=where
                    )


Twins.TestCase.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    database=None,
    derandomize="STATEFUL_EXAMPLES" not in os.environ,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
TestTwins = Twins.TestCase
