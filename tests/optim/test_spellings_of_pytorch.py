"""Arguments of optimizers, schedules, losses and the like as PyTorch's scripts spell them."""

from __future__ import annotations

import copy
import inspect
import io
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.in_place import enabled, in_place_of

BOTH = (flow, torch)
OPTIMIZERS = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam")


def weights(lib: ModuleType) -> Any:
    return lib.nn.Parameter(lib.tensor([1.0, -2.0, 3.0]))


def after_steps(lib: ModuleType, name: str, **options: Any) -> list[float]:
    w = weights(lib)
    optimizer = getattr(lib.optim, name)([w], lr=0.1, **options)
    for _ in range(3):
        optimizer.zero_grad()
        (w**3).sum().backward()
        optimizer.step()
    return w.tolist()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_take_switches_between_implementations(name):
    optimizer = getattr(flow.optim, name)
    made = optimizer([weights(flow)], lr=0.1, differentiable=False, foreach=False)
    assert "foreach" not in made.defaults


@pytest.mark.parametrize("name", [*OPTIMIZERS, "ASGD", "Rprop", "SparseAdam", "LBFGS", "Muon"])
@pytest.mark.parametrize("options", [{}, {"foreach": True, "capturable": False}])
def test_groups_show_each_option_of_pytorch_in_its_place(name, options):
    if options and name in ("SparseAdam", "LBFGS", "Muon", "SGD", "Adagrad"):
        pytest.skip("has no such option in PyTorch")

    def options_of(lib):
        matrix = lib.nn.Parameter(lib.ones(2, 2))
        group = getattr(lib.optim, name)([matrix], lr=0.5, **options).param_groups[0]
        # OneFlow's `fused` is False where PyTorch's is None, and means as little.
        return {key: value or None for key, value in group.items() if key != "params"}

    with enabled():
        in_place = options_of(in_place_of("torch"))
    assert options_of(torch).items() <= in_place.items()


@pytest.mark.parametrize("name", ["Adam", "NAdam", "RAdam"])
def test_decoupled_weight_decay_is_pytorchs(name):
    options = {"weight_decay": 0.1, "decoupled_weight_decay": True}
    mine, theirs = (after_steps(lib, name, **options) for lib in BOTH)
    assert mine == pytest.approx(theirs, rel=1e-5)


def schedule(lib: ModuleType, make: Any) -> list[float]:
    optimizer = lib.optim.SGD([weights(lib)], lr=0.1)
    scheduler, rates = make(lib.optim.lr_scheduler, optimizer), []
    for _ in range(7):
        optimizer.step()
        scheduler.step()
        rates.append(optimizer.param_groups[0]["lr"])
    return rates


SCHEDULES = {
    "chained": lambda s, o: s.ChainedScheduler([s.StepLR(o, 2), s.ConstantLR(o)], optimizer=o),
    "polynomial": lambda s, o: s.PolynomialLR(o, total_iters=5, power=2.0),
    "numbers of steps in floats": lambda s, o: s.ChainedScheduler(
        [s.StepLR(o, 2.0), s.MultiStepLR(o, [1.0, np.int64(4)]), s.ConstantLR(o, 0.5, 5.0)]
    ),
    "half a swing that is not whole": lambda s, o: s.CosineAnnealingLR(o, 2.5),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_take_pytorchs_arguments(name):
    mine, theirs = (schedule(lib, SCHEDULES[name]) for lib in BOTH)
    assert mine == pytest.approx(theirs)


@pytest.mark.parametrize("options", [{}, {"decay_batch": 5, "total_iters": 5}])
def test_polynomial_schedule_needs_one_length(options):
    optimizer = flow.optim.SGD([weights(flow)], lr=0.1)
    with pytest.raises(TypeError, match="`decay_batch` or `total_iters`"):
        flow.optim.lr_scheduler.PolynomialLR(optimizer, **options)


def test_gradient_scaler_takes_a_device_first():
    scalers = [flow.amp.GradScaler("cpu"), flow.amp.GradScaler(device="cuda", init_scale=65536.0)]
    assert [scaler.get_scale() for scaler in scalers] == [65536.0, 65536.0]
    assert flow.amp.GradScaler("cpu", 8.0).get_scale() == 8.0


NUMBERS = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


def positive(lib: ModuleType) -> Any:
    return lib.tensor(np.abs(NUMBERS))


# A loss and the tensors that it takes.
LOSSES = {
    "MSELoss": lambda lib: (lib.tensor(NUMBERS), positive(lib)),
    "L1Loss": lambda lib: (lib.tensor(NUMBERS), positive(lib)),
    "SmoothL1Loss": lambda lib: (lib.tensor(NUMBERS), positive(lib)),
    "KLDivLoss": lambda lib: (lib.tensor(NUMBERS), positive(lib)),
    "BCELoss": lambda lib: (positive(lib) * 0.5, positive(lib)),
    "BCEWithLogitsLoss": lambda lib: (lib.tensor(NUMBERS), positive(lib)),
    "SoftMarginLoss": lambda lib: (lib.tensor(NUMBERS), positive(lib)),
    "PoissonNLLLoss": lambda lib: (lib.tensor(NUMBERS), positive(lib)),
    "HingeEmbeddingLoss": lambda lib: (lib.tensor(NUMBERS), lib.ones(2, 3)),
    "CrossEntropyLoss": lambda lib: (lib.tensor(NUMBERS), lib.tensor([1, 2])),
    "NLLLoss": lambda lib: (lib.tensor(NUMBERS), lib.tensor([1, 2])),
    "MultiMarginLoss": lambda lib: (lib.tensor(NUMBERS), lib.tensor([1, 2])),
    "MultiLabelSoftMarginLoss": lambda lib: (lib.tensor(NUMBERS), positive(lib)),
}
OLD = ({"size_average": False}, {"reduce": False}, {"size_average": True, "reduce": True})


@pytest.mark.parametrize("name", LOSSES)
def test_losses_take_the_old_arguments(name):
    for options in OLD:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mine, theirs = (
                getattr(lib.nn, name)(**options)(*LOSSES[name](lib)).numpy() for lib in BOTH
            )
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, err_msg=f"{name} {options}")


@pytest.mark.parametrize("name", LOSSES)
def test_losses_take_the_old_order(name):
    parameters = list(inspect.signature(getattr(torch.nn, name)).parameters.values())
    defaults = [parameter.default for parameter in parameters]
    defaults[[parameter.name for parameter in parameters].index("size_average")] = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine, theirs = (
            getattr(lib.nn, name)(*defaults)(*LOSSES[name](lib)).numpy() for lib in BOTH
        )
    np.testing.assert_allclose(mine, theirs, rtol=1e-5)


def test_further_spellings():
    state = flow.get_rng_state()
    flow.set_rng_state(new_state=state)
    assert len(flow.nn.ParameterList(values=[weights(flow)])) == 1
    x = flow.tensor([0.5, 2.0], dtype=flow.float64, requires_grad=True)
    assert flow.autograd.gradcheck(lambda x: x * x, x, nondet_tol=0.0)


def test_gradcheck_finds_gradients_that_change():
    class Unstable(flow.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.calls = 0
            return x * 1

        @staticmethod
        def backward(ctx, g):
            ctx.calls += 1
            return g * (1 + 1e-7 * ctx.calls)

    x = flow.tensor([0.5, 2.0], dtype=flow.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="second backward pass"):
        flow.autograd.gradcheck(Unstable.apply, x)
    assert flow.autograd.gradcheck(Unstable.apply, x, nondet_tol=1e-5)


def _class_with_steps_of_its_own(library):
    class Signs(library.optim.Optimizer):
        def __init__(self, params, lr=0.5):
            super().__init__(params, {"lr": lr})

        def __setstate__(self, state):
            super().__setstate__(state)
            for group in self.param_groups:
                group.setdefault("completed", True)

        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if not state:
                        state["step"] = library.tensor(0.0)
                    state["step"].add_(1)
                    p.data.sub_(group["lr"] / state["step"] * p.grad.sign())

    return Signs


def test_counts_that_are_numbers_stay_numbers():
    theirs, ours = (lib.optim.Adafactor([weights(lib)], lr=0.1) for lib in (torch, flow))
    for parameter in theirs.param_groups[0]["params"]:
        parameter.grad = torch.ones(3)
    for _ in range(3):
        theirs.step()
    saved = theirs.state_dict()
    assert isinstance(saved["state"][0]["step"], torch.Tensor)
    buffer = io.BytesIO()
    torch.save(saved, buffer)
    buffer.seek(0)
    ours.load_state_dict(flow.load(buffer))
    (state,) = ours.state.values()
    assert type(state["step"]) is int
    assert state["step"] == 3


def test_optimizers_of_users_do_not_share_the_tensors_that_they_load():
    signs = _class_with_steps_of_its_own(flow)
    weight = weights(flow)
    weight.grad = flow.ones(3)
    first, second = signs([weight]), signs([weight])
    first.step()
    saved = first.state_dict()
    for optimizer in (first, second):
        optimizer.load_state_dict(saved)
        optimizer.step()
    assert saved["state"][0]["step"].item() == 1
    assert [loaded.state[weight]["step"].item() for loaded in (first, second)] == [2, 2]


@pytest.mark.parametrize("is_late", [False, True])
def test_a_state_that_cannot_be_taken_changes_nothing(is_late):
    """PyTorch keeps its groups only if `__setstate__` fails before the base class has taken it."""
    for library in (flow,) if is_late else BOTH:
        base = _class_with_steps_of_its_own(library)

        class Refusing(base):
            def __setstate__(self, state, base=base):
                if is_late:
                    base.__setstate__(self, state)
                raise ValueError("refused")

        weight = weights(library)
        weight.grad = library.ones(3)
        optimizer, other = Refusing([weight]), base([weight], lr=0.125)
        for stepped in (optimizer, other, other):
            stepped.step()
        with pytest.raises(ValueError, match="refused"):
            optimizer.load_state_dict(other.state_dict())
        assert optimizer.param_groups[0]["lr"] == 0.5
        assert "completed" not in optimizer.param_groups[0]
        assert optimizer.param_groups[0]["params"][0] is weight
        assert optimizer.state[weight]["step"].item() == 1


def test_optimizers_of_users_keep_tensors_of_steps_and_complete_what_is_loaded():
    """`load_state_dict` gives what it has read to `__setstate__`, and changes no count."""
    results = []
    for library in (torch, flow):
        signs = _class_with_steps_of_its_own(library)
        weight = library.nn.Parameter(library.tensor([2.0, -2.0]))
        optimizer = signs([weight])
        for _ in range(4):
            weight.grad = library.tensor([1.0, -1.0])
            optimizer.step()
            state = optimizer.state_dict()
            optimizer = signs([weight])
            optimizer.load_state_dict(state)
        (kept,) = optimizer.state.values()
        copied = copy.deepcopy(optimizer)
        results.append(
            [
                weight.tolist(),
                kept["step"].item(),
                optimizer.param_groups[0]["completed"],
                copied.param_groups[0]["completed"],
            ]
        )
    assert results[0] == results[1]


def test_optimizers_without_parameters_are_refused_in_the_place_of_pytorch():
    for optim in (torch.optim, in_place_of("torch").optim):
        with enabled(), pytest.raises(ValueError, match="empty parameter list"):
            optim.Adam(iter(()))
