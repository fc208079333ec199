"""Schedules: equal to PyTorch's where it has them, to the formula where it has not."""

import math

import pytest
import torch

import oneflow as flow

schedulers = flow.optim.lr_scheduler
STEPS = 12


def optimizers(lrs=(1.0, 0.2), **options):
    """One optimizer of each library with as many groups as learning rates."""
    made = []
    for lib in (flow, torch):
        groups = [{"params": [lib.ones(1, requires_grad=True)], "lr": lr} for lr in lrs]
        made.append(lib.optim.SGD(groups, lr=0.5, momentum=0.9, **options))
    return made


def trace(optimizer, scheduler, *metrics):
    """The learning rates and momenta of all groups over the steps."""
    seen = []
    for step in range(STEPS):
        seen.append([(group["lr"], group["momentum"]) for group in optimizer.param_groups])
        optimizer.step()
        scheduler.step(*(metric[step] for metric in metrics))
    return seen


def assert_close(mine, theirs):
    assert len(mine) == len(theirs)
    for one, other in zip(mine, theirs, strict=True):
        for pair, expected in zip(one, other, strict=True):
            assert pair == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("is_first", [True, False])
def test_functions_of_steps_multiply_the_rates_of_a_chain(is_first):
    traces = []
    for optimizer, lib in zip(optimizers(), (flow, torch), strict=True):
        schedules = lib.optim.lr_scheduler
        members = [
            schedules.MultiplicativeLR(optimizer, lambda step: 1 - 0.1 / step),
            schedules.ExponentialLR(optimizer, 0.9),
        ]
        chain = schedules.ChainedScheduler(members if is_first else members[::-1])
        traces.append(trace(optimizer, chain))
    assert_close(*traces)


SAME = [
    ("StepLR", {"step_size": 3, "gamma": 0.5}),
    ("MultiStepLR", {"milestones": [2, 5, 5], "gamma": 0.3}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("ConstantLR", {"factor": 0.5, "total_iters": 4}),
    ("LinearLR", {"start_factor": 0.25, "end_factor": 0.75, "total_iters": 5}),
    ("CosineAnnealingLR", {"T_max": 5, "eta_min": 0.05}),
    ("CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 1, "eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": 2}),
    ("LambdaLR", {"lr_lambda": lambda step: 0.95**step}),
    ("LambdaLR", {"lr_lambda": [lambda step: 1 / (1 + step), lambda step: 0.5]}),
    ("MultiplicativeLR", {"lr_lambda": lambda step: 0.9}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 3, "step_size_down": 2}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": [1.0, 2.0], "step_size_up": 2, "mode": "triangular2"}),
    (
        "CyclicLR",
        {
            "base_lr": [0.1, 0.2],
            "max_lr": 1.0,
            "step_size_up": 2,
            "mode": "exp_range",
            "gamma": 0.9,
            "cycle_momentum": False,
        },
    ),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 2, "scale_fn": lambda x: 1 / x}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": STEPS + 1}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": STEPS}),
    ("OneCycleLR", {"max_lr": [1.0, 2.0], "epochs": 5, "steps_per_epoch": 4, "three_phase": True}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 20, "anneal_strategy": "linear"}),
]


@pytest.mark.parametrize(("name", "options"), SAME)
def test_equals_torch(name, options):
    mine, theirs = optimizers()
    ours = getattr(schedulers, name)(mine, **options)
    reference = getattr(torch.optim.lr_scheduler, name)(theirs, **options)
    assert_close(trace(mine, ours), trace(theirs, reference))
    assert ours.get_last_lr() == pytest.approx(reference.get_last_lr())
    assert ours.last_epoch == ours.last_step == STEPS


@pytest.mark.parametrize("options", [{}, {"mode": "max", "threshold_mode": "abs", "cooldown": 1}])
def test_plateau_equals_torch(options):
    losses = [1.0, 0.9, 0.95, 0.94, 0.93, 0.92, 0.1, 0.2, 0.3, 0.2, 0.3, 0.4]
    options = {"factor": 0.5, "patience": 1, "min_lr": 0.03, **options}
    mine, theirs = optimizers()
    ours = schedulers.ReduceLROnPlateau(mine, **options)
    reference = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, **options)
    assert_close(trace(mine, ours, losses), trace(theirs, reference, losses))


def test_chained_equals_torch():
    traces = []
    for optimizer, lib in zip(optimizers(), (schedulers, torch.optim.lr_scheduler), strict=True):
        inner = [lib.ConstantLR(optimizer, 0.1, 2), lib.ExponentialLR(optimizer, 0.9)]
        traces.append(trace(optimizer, lib.ChainedScheduler(inner)))
    assert_close(*traces)


def test_sequential_with_rescaling_equals_torch():
    mine, theirs = optimizers()
    ours = schedulers.SequentialLR(
        mine,
        [schedulers.LinearLR(mine, 0.1, total_iters=4), schedulers.CosineAnnealingLR(mine, 6)],
        milestones=[4],
        interval_rescaling=True,
    )
    lib = torch.optim.lr_scheduler
    reference = lib.SequentialLR(
        theirs, [lib.LinearLR(theirs, 0.1, total_iters=4), lib.CosineAnnealingLR(theirs, 6)], [4]
    )
    assert_close(trace(mine, ours), trace(theirs, reference))


def lrs_of(scheduler, steps, base=1.0):
    return [scheduler.lrs_at([base], step)[0] for step in range(steps)]


@pytest.fixture
def optimizer():
    return flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)


def test_sequential_without_rescaling_counts_from_the_beginning(optimizer):
    halves = schedulers.StepLR(optimizer, 1, gamma=0.5)
    constant = schedulers.ConstantLR(optimizer, factor=0.1, total_iters=9)
    sequence = schedulers.SequentialLR(optimizer, [constant, halves], milestones=[2])
    assert lrs_of(sequence, 5) == pytest.approx([0.1, 0.1, 0.25, 0.125, 0.0625])


def test_cosine_decay_is_its_formula(optimizer):
    scheduler = schedulers.CosineDecayLR(optimizer, decay_steps=4, alpha=0.2)
    curve = [0.8 * 0.5 * (1 + math.cos(math.pi * step / 4)) + 0.2 for step in range(4)]
    assert lrs_of(scheduler, 6) == pytest.approx([*curve, 0.2, 0.2])


def test_polynomial_is_its_formula(optimizer):
    scheduler = schedulers.PolynomialLR(optimizer, 4, end_learning_rate=0.1, power=2.0)
    curve = [0.9 * (1 - step / 4) ** 2 + 0.1 for step in range(5)]
    assert lrs_of(scheduler, 7) == pytest.approx([*curve, 0.1, 0.1])
    again = schedulers.PolynomialLR(optimizer, 4, end_learning_rate=0.1, cycle=True)
    counted = [max(step, 1) for step in range(8)]  # 0 has no period of its own
    expected = [0.9 * (1 - step / (4 if step <= 4 else 8)) + 0.1 for step in counted]
    assert lrs_of(again, 8) == pytest.approx(expected)


def test_warm_restarts_with_decay_and_limit(optimizer):
    scheduler = schedulers.CosineAnnealingWarmRestarts(
        optimizer, T_0=2, decay_rate=0.5, restart_limit=2, eta_min=0.1
    )
    assert lrs_of(scheduler, 6) == pytest.approx([1.0, 0.55, 0.5, 0.3, 0.1, 0.1])


def test_warm_up_of_an_optimizer(optimizer):
    linear = schedulers.WarmUpLR(optimizer, warmup_factor=0.5, warmup_iters=5)
    assert lrs_of(linear, 7) == pytest.approx([0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0])
    constant = schedulers.WarmupLR(
        optimizer, warmup_factor=0.5, warmup_iters=2, warmup_method="constant"
    )
    assert lrs_of(constant, 4) == pytest.approx([0.5, 0.5, 1.0, 1.0])


def test_warm_up_before_a_scheduler(optimizer):
    cosine = schedulers.CosineDecayLR(optimizer, decay_steps=5, alpha=0.1)
    meanwhile = schedulers.WarmUpLR(cosine, warmup_factor=0.5, warmup_iters=2)
    end = cosine.get_lr(1.0, 2)
    expected = [0.5, (0.5 + end) / 2, end, cosine.get_lr(1.0, 3)]
    assert lrs_of(meanwhile, 4) == pytest.approx(expected)
    prefixed = schedulers.WarmUpLR(cosine, warmup_factor=0.5, warmup_iters=2, warmup_prefix=True)
    assert lrs_of(prefixed, 4) == pytest.approx([0.5, 0.75, 1.0, cosine.get_lr(1.0, 1)])


def make_sequence(optimizer):
    inner = [schedulers.LinearLR(optimizer, 0.1, total_iters=3), schedulers.StepLR(optimizer, 2)]
    return schedulers.SequentialLR(optimizer, inner, milestones=[3])


@pytest.mark.parametrize(
    "make",
    [
        make_sequence,
        lambda optimizer: schedulers.CosineDecayLR(optimizer, 8),
        lambda optimizer: schedulers.LambdaLR(optimizer, lambda step: 0.9**step),
        lambda optimizer: schedulers.OneCycleLR(optimizer, 1.0, 20, cycle_momentum=False),
    ],
)
def test_state_dict_round_trip(optimizer, make, tmp_path):
    scheduler = make(optimizer)
    for _ in range(4):
        scheduler.step()
    flow.save(scheduler.state_dict(), tmp_path / "scheduler")
    twin_optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
    twin = make(twin_optimizer)
    twin.load_state_dict(flow.load(tmp_path / "scheduler"))
    for _ in range(4):
        scheduler.step()
        twin.step()
        assert twin_optimizer.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]


SHARED = {
    "step": lambda lib, o: lib.StepLR(o, 3, 0.5),
    "cosine": lambda lib, o: lib.CosineAnnealingLR(o, 7),
    "restarts": lambda lib, o: lib.CosineAnnealingWarmRestarts(o, 3, 2),
    "function": lambda lib, o: lib.LambdaLR(o, lambda step: 0.9**step),
    "one cycle": lambda lib, o: lib.OneCycleLR(o, 0.5, 20),
    "cyclic": lambda lib, o: lib.CyclicLR(o, 0.1, 0.5, 3),
    "chain": lambda lib, o: lib.ChainedScheduler(
        [lib.ConstantLR(o, 0.5, 6), lib.ExponentialLR(o, 0.9)]
    ),
    "plateau": lambda lib, o: lib.ReduceLROnPlateau(o, factor=0.5, patience=2),
}


@pytest.mark.parametrize("name", SHARED)
def test_state_dicts_of_pytorch(name):
    numbers = (1.0,) if name == "plateau" else ()
    parameter = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([parameter], lr=1.0, momentum=0.9)
    scheduler = SHARED[name](torch.optim.lr_scheduler, optimizer)
    optimizer.step()
    for _ in range(4):
        scheduler.step(*numbers)
    ours = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    twin = SHARED[name](schedulers, ours)
    ours.load_state_dict({"state": {}, "param_groups": optimizer.state_dict()["param_groups"]})
    twin.load_state_dict(scheduler.state_dict())
    for _ in range(5):
        scheduler.step(*numbers)
        twin.step(*numbers)
        expected = optimizer.param_groups[0]
        assert ours.param_groups[0]["lr"] == pytest.approx(expected["lr"])
        assert ours.param_groups[0]["momentum"] == pytest.approx(expected["momentum"])


def test_stepping_to_a_given_epoch(optimizer):
    scheduler = schedulers.StepLR(optimizer, 3, 0.5)
    scheduler.step(6)
    assert scheduler.get_last_lr() == [0.25]
    assert scheduler.last_epoch == 6


def test_a_schedule_in_the_form_of_torch(optimizer):
    class Halving(schedulers.LRScheduler):
        def get_lr(self):
            return [base_lr * 0.5**self.last_epoch for base_lr in self.base_lrs]

    scheduler = Halving(optimizer, last_epoch=-1)
    scheduler.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [0.25]


def test_verbose_prints_every_change(optimizer, capsys):
    schedulers.StepLR(optimizer, 1, verbose=True).step()
    assert "learning rate of parameter group 0 to 0.1" in capsys.readouterr().out


def test_goes_on_from_a_last_step(optimizer):
    schedulers.StepLR(optimizer, 2, gamma=0.5)
    scheduler = schedulers.StepLR(optimizer, 2, gamma=0.5, last_step=3)
    assert scheduler.get_last_lr() == [0.25]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda optimizer: schedulers.StepLR("SGD", 1), TypeError),
        (lambda optimizer: schedulers.StepLR(optimizer, 1, last_step=2), KeyError),
        (lambda optimizer: schedulers.StepLR(optimizer, 0), ValueError),
        (lambda optimizer: schedulers.StepLR(optimizer, 2.5), ValueError),
        (lambda optimizer: schedulers.CosineAnnealingLR(optimizer, 0), ValueError),
        (lambda optimizer: schedulers.LambdaLR(optimizer, [abs, abs]), ValueError),
        (lambda optimizer: schedulers.ReduceLROnPlateau(optimizer, factor=1.5), ValueError),
        (lambda optimizer: schedulers.WarmUpLR(optimizer, warmup_method="cubic"), ValueError),
        (lambda optimizer: schedulers.ChainedScheduler([]), ValueError),
        (lambda optimizer: schedulers.SequentialLR(optimizer, [], []), ValueError),
        (lambda optimizer: schedulers.CyclicLR(optimizer, 0.1, 1.0, mode="square"), ValueError),
        (lambda optimizer: schedulers.OneCycleLR(optimizer, 1.0), ValueError),
    ],
)
def test_wrong_arguments(optimizer, make, error):
    with pytest.raises(error):
        make(optimizer)


def test_one_cycle_ends(optimizer):
    scheduler = schedulers.OneCycleLR(optimizer, 1.0, 2, cycle_momentum=False)
    scheduler.step()
    scheduler.step()
    with pytest.raises(ValueError, match="tried to step 3 times"):
        scheduler.step()
