"""The common behaviour of optimizers: groups, state, gradients, hooks, clipping, saving, errors."""

import math

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow.eager import statistics


def tensor(*values):
    return flow.tensor(list(values), requires_grad=True)


def descend(optimizer, *tensors):
    """One step down the sum of squares."""
    sum((operand * operand).sum() for operand in tensors).backward()
    optimizer.step()


# --- parameter groups


def test_options_of_groups_win_over_defaults():
    one, other = tensor(1.0), tensor(1.0)
    optimizer = flow.optim.SGD([{"params": [one]}, {"params": other, "lr": 0.01}], lr=0.1)
    descend(optimizer, one, other)
    assert one.item() == pytest.approx(0.8)
    assert other.item() == pytest.approx(0.98)


def test_options_may_all_come_from_the_group():
    one = tensor(1.0)
    optimizer = flow.optim.Adam([{"params": [one], "lr": 0.5, "betas": (0.5, 0.5)}])
    assert optimizer.param_groups[0]["lr"] == 0.5
    assert optimizer.param_groups[0]["eps"] == 1e-8


def test_accepts_generators_names_and_both_spellings():
    tensors = [tensor(1.0), tensor(2.0)]
    assert len(flow.optim.SGD(iter(tensors)).param_groups[0]["params"]) == 2
    named = flow.optim.SGD([("a", tensors[0]), ("b", tensors[1])])
    assert named.param_groups[0]["params"] == tensors
    assert flow.optim.AdamW(parameters=tensors, foreach=False, fused=True).param_groups
    assert flow.optim.LAMB(tensors, contiguous_params=True).param_groups
    with pytest.raises(TypeError, match="same"):
        flow.optim.SGD(tensors, parameters=tensors)


@pytest.mark.parametrize(
    ("params", "error"),
    [
        (lambda: flow.ones(2), TypeError),
        (lambda: [1.0], TypeError),
        (lambda: {"params": []}, TypeError),
        (lambda: [tensor(1.0) * 2], ValueError),
        (lambda: [{"params": {tensor(1.0)}}], TypeError),
        (lambda: [{"params": [tensor(1.0)], "clip_grad_max_norm": 1.0}], ValueError),
    ],
)
def test_wrong_parameters(params, error):
    with pytest.raises(error):
        flow.optim.SGD(params(), lr=0.1)


def test_a_parameter_in_two_groups_is_refused():
    one = tensor(1.0)
    with pytest.raises(ValueError, match="more than one parameter group"):
        flow.optim.SGD([{"params": [one]}, {"params": [one]}])


@pytest.mark.parametrize(
    "make",
    [
        lambda p: flow.optim.SGD(p, lr=-1.0),
        lambda p: flow.optim.Adam(p, betas=(1.0, 0.9)),
        lambda p: flow.optim.Adam(p, eps=-1.0),
        lambda p: flow.optim.Adadelta(p, rho=1.5),
        lambda p: flow.optim.Rprop(p, etas=(1.5, 0.5)),
        lambda p: flow.optim.LBFGS(p, line_search_fn="armijo"),
        lambda p: flow.optim.ASGD(p, weight_decay=-1.0),
        lambda p: flow.optim.SparseAdam(p, lr=0.0),
        lambda p: flow.optim.Adafactor(p, d=0.5),
        lambda p: flow.optim.Adafactor(p, beta2_decay=0.5),
        lambda p: flow.optim.Muon(p, ns_steps=100),
        lambda p: flow.one_embedding.Ftrl(p, initial_accumulator_value=0.0),
    ],
)
def test_wrong_options(make):
    with pytest.raises(ValueError, match=r"Invalid|line_search"):
        make([tensor(1.0)])


def test_onefows_defaults():
    one = [tensor(1.0)]
    assert flow.optim.SGD(one).defaults["lr"] == 1e-3
    assert flow.optim.RMSprop(one).defaults["lr"] == 1e-3
    assert flow.optim.Adagrad(one).defaults["lr"] == 1e-3
    assert flow.optim.AdamW(one).defaults["weight_decay"] == 0
    assert flow.optim.Adam(one).defaults["do_bias_correction"] is True


# --- gradients


def test_zero_grad_leaves_zeros_and_momentum_goes_on():
    one = tensor(1.0)
    optimizer = flow.optim.SGD([one], lr=0.1, momentum=0.5)
    descend(optimizer, one)
    optimizer.zero_grad()
    assert one.grad.tolist() == [0.0]
    optimizer.zero_grad()
    optimizer.step()
    assert one.item() == pytest.approx(0.8 - 0.1)


def test_zero_grad_to_none_skips_the_parameter():
    one = tensor(1.0)
    optimizer = flow.optim.SGD([one], lr=0.1, momentum=0.5)
    descend(optimizer, one)
    optimizer.zero_grad(set_to_none=True)
    assert one.grad is None
    optimizer.step()
    assert one.item() == pytest.approx(0.8)


def test_zero_grad_shows_in_a_gradient_that_somebody_holds():
    one = tensor(1.0, 2.0)
    held_by_view = tensor(3.0)
    optimizer = flow.optim.SGD([one, held_by_view], lr=0.1)
    (one.sum() + held_by_view.sum()).backward()
    gradient, view = one.grad, held_by_view.grad[0:1]
    optimizer.zero_grad()
    assert one.grad is gradient
    assert gradient.tolist() == [0.0, 0.0]
    assert view.tolist() == [0.0]


def test_zero_grad_records_nothing():
    one = tensor(1.0, 2.0)
    optimizer = flow.optim.SGD([one], lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        descend(optimizer, one)
    flow.eager.synchronize()
    statistics().reset()
    optimizer.zero_grad()
    flow.eager.synchronize()
    assert not statistics().flushes
    (one * one).sum().backward()
    assert one.grad.tolist() == (2 * one).tolist()


def test_gradients_accumulate_over_backward_passes():
    one = tensor(1.0)
    optimizer = flow.optim.SGD([one], lr=0.1)
    (one * 2).sum().backward()
    (one * 3).sum().backward()
    optimizer.step()
    assert one.item() == pytest.approx(0.5)


# --- the step


def test_closure_runs_with_gradients_and_its_loss_comes_back():
    one = tensor(3.0)
    optimizer = flow.optim.SGD([one], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (one * one).sum()
        loss.backward()
        return loss

    with flow.no_grad():
        assert optimizer.step(closure).item() == 9.0
    assert one.item() == pytest.approx(2.4)
    assert optimizer.step() is None


def test_hooks_run_around_the_step():
    one = tensor(1.0)
    optimizer = flow.optim.SGD([one], lr=0.1)
    seen = []
    before = optimizer.register_step_pre_hook(lambda *args: seen.append(("before", one.item())))
    optimizer.register_step_post_hook(lambda *args: seen.append(("after", round(one.item(), 2))))
    descend(optimizer, one)
    before.remove()
    optimizer.step()
    assert seen == [("before", 1.0), ("after", 0.8), ("after", 0.6)]


def test_hooks_on_states():
    results = []
    for lib in (flow, torch):
        seen = []
        optimizer = lib.optim.SGD([lib.ones(1, requires_grad=True)], lr=0.5)
        optimizer.register_state_dict_pre_hook(lambda _, seen=seen: seen.append("saves"))
        optimizer.register_state_dict_post_hook(lambda _, state: {**state, "epoch": 1})
        first = optimizer.register_state_dict_post_hook(
            lambda _, state, seen=seen: seen.append("epoch" in state), prepend=True
        )
        optimizer.register_load_state_dict_pre_hook(
            lambda _, state: {**state, "param_groups": [{**state["param_groups"][0], "lr": 2.0}]}
        )
        optimizer.register_load_state_dict_post_hook(lambda _, seen=seen: seen.append("loaded"))
        state = optimizer.state_dict()
        first.remove()
        optimizer.load_state_dict(state)
        results.append((seen, state["epoch"], optimizer.param_groups[0]["lr"]))
    assert results[0] == results[1] == (["saves", False, "loaded"], 1, 2.0)


def test_an_optimizer_of_ones_own_is_flushed_and_has_hooks():
    class Scaled(flow.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @flow.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.sub_(p.grad * group["lr"])

    one = tensor(1.0)
    optimizer = Scaled([one], lr=0.25)
    called = []
    optimizer.register_step_post_hook(lambda *args: called.append(1))
    statistics().reset()
    descend(optimizer, one)
    assert statistics().flushes["step"] == 1
    assert called == [1]
    assert one.item() == 0.5


def test_without_a_step_the_base_class_says_what_is_missing():
    class Empty(flow.optim.Optimizer):
        pass

    one = tensor(1.0)
    one.grad = flow.ones(1)
    with pytest.raises(NotImplementedError, match="step"):
        Empty([one], {}).step()


def test_parameters_that_share_memory_with_views_are_written_through():
    whole = flow.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    twin = whole.detach()
    optimizer = flow.optim.SGD([whole], lr=0.1)
    descend(optimizer, whole)
    np.testing.assert_allclose(twin.numpy(), [[0.8, 1.6], [2.4, 3.2]], rtol=1e-6)
    assert whole.requires_grad
    assert whole.is_leaf


def test_repr_lists_groups_and_options():
    text = repr(flow.optim.SGD([tensor(1.0)], lr=0.25))
    assert text.startswith("SGD (\nParameter Group 0\n")
    assert "    lr: 0.25" in text


# --- clipping


@pytest.mark.parametrize("norm_type", [2.0, 1.0, 3.5, "inf", float("inf"), "-inf", 0.0])
@pytest.mark.parametrize("max_norm", [0.5, 100.0])
def test_clip_grad_equals_torch(norm_type, max_norm):
    arrays = [np.array([[3.0, -4.0], [0.5, 1.0]], np.float32), np.array([0.1, 2.0], np.float32)]
    mine = [flow.tensor(np.zeros_like(array), requires_grad=True) for array in arrays]
    theirs = [torch.zeros(array.shape, requires_grad=True) for array in arrays]
    for one, other, array in zip(mine, theirs, arrays, strict=True):
        one.grad, other.grad = flow.tensor(array), torch.tensor(array)
    group = {"params": mine, "clip_grad_max_norm": max_norm, "clip_grad_norm_type": norm_type}
    flow.optim.SGD([group], lr=0.1).clip_grad()
    torch.nn.utils.clip_grad_norm_(theirs, max_norm, float(norm_type))
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(one.grad.numpy(), other.grad.numpy(), rtol=1e-5)


def test_clip_grad_raises_for_a_norm_that_is_not_finite():
    one = tensor(1.0)
    one.grad = flow.tensor([math.nan])
    group = {"params": [one], "clip_grad_max_norm": 1.0, "clip_grad_norm_type": 2.0}
    optimizer = flow.optim.SGD([group], lr=0.1)
    optimizer.clip_grad()
    with pytest.raises(RuntimeError, match="non-finite"):
        optimizer.clip_grad(error_if_nonfinite=True)


# --- saving


def test_state_dict_has_the_form_of_torch():
    one, other = tensor(1.0), tensor(2.0, 3.0)
    optimizer = flow.optim.Adam([{"params": [one]}, {"params": [other], "lr": 0.5}])
    descend(optimizer, one, other)
    saved = optimizer.state_dict()
    assert set(saved) == {"state", "param_groups"}
    assert [group["params"] for group in saved["param_groups"]] == [[0], [1]]
    assert saved["param_groups"][1]["lr"] == 0.5
    assert saved["state"][1]["step"] == 1
    assert saved["state"][1]["exp_avg"].shape == (2,)


def test_loaded_state_is_a_copy():
    one = tensor(1.0)
    optimizer = flow.optim.SGD([one], lr=0.1, momentum=0.5)
    descend(optimizer, one)
    saved = optimizer.state_dict()
    twin = flow.optim.SGD([tensor(1.0)], lr=0.9, momentum=0.5)
    twin.load_state_dict(saved)
    assert twin.param_groups[0]["lr"] == 0.1
    kept = saved["state"][0]["momentum_buffer"].tolist()
    twin.param_groups[0]["params"][0].grad = flow.ones(1)
    twin.step()
    assert saved["state"][0]["momentum_buffer"].tolist() == kept


def test_a_state_dict_of_other_groups_is_refused():
    saved = flow.optim.SGD([tensor(1.0)]).state_dict()
    with pytest.raises(ValueError, match="different number of parameter groups"):
        flow.optim.SGD([{"params": tensor(1.0)}, {"params": tensor(1.0)}]).load_state_dict(saved)
    with pytest.raises(ValueError, match="doesn't match the size"):
        flow.optim.SGD([tensor(1.0), tensor(2.0)]).load_state_dict(saved)


# --- optimizers that PyTorch does not have, by their formulas


def test_lamb_is_its_formula():
    start, gradients = np.array([1.0, -2.0, 0.5]), np.random.default_rng(0).normal(size=(4, 3))
    one = flow.tensor(start).requires_grad_()
    optimizer = flow.optim.LAMB([one], lr=0.1, weight_decay=0.2, betas=(0.9, 0.99))
    x, m, v = start, np.zeros(3), np.zeros(3)
    for step, gradient in enumerate(gradients, 1):
        one.grad = flow.tensor(gradient)
        optimizer.step()
        m, v = 0.9 * m + 0.1 * gradient, 0.99 * v + 0.01 * gradient**2
        update = m / (1 - 0.9**step) / (np.sqrt(v) / np.sqrt(1 - 0.99**step) + 1e-8)
        trust = np.linalg.norm(x) / np.linalg.norm(update)
        x = x - 0.1 * trust * (update + 0.2 * x)
    np.testing.assert_allclose(one.numpy(), x, rtol=1e-10)


def test_lamb_of_a_zero_parameter_takes_a_plain_step():
    one = flow.zeros(3, requires_grad=True)
    one.grad = flow.ones(3)
    flow.optim.LAMB([one], lr=0.1).step()
    np.testing.assert_allclose(one.numpy(), -0.1 * np.ones(3), rtol=1e-5)


@pytest.mark.parametrize("power", [0.5, 0.8, -0.5])
def test_ftrl_is_its_formula(power):
    start, gradients = np.array([1.0, -2.0, 0.5]), np.random.default_rng(0).normal(size=(4, 3))
    one = flow.tensor(start).requires_grad_()
    optimizer = flow.one_embedding.Ftrl(
        [one],
        lr=0.3,
        lr_power=power,
        lambda1=0.4,
        lambda2=0.1,
        beta=0.2,
        weight_decay=0.05,
    )
    x, n, z = start, np.full(3, 0.1), np.zeros(3)
    for gradient in gradients:
        one.grad = flow.tensor(gradient)
        optimizer.step()
        gradient = gradient + 0.05 * x
        total = n + gradient**2
        z = z + gradient - (total**power - n**power) / 0.3 * x
        n = total
        solution = (np.sign(z) * 0.4 - z) / ((0.2 + n**power) / 0.3 + 0.1)
        x = np.where(np.abs(z) <= 0.4, 0, solution)
    np.testing.assert_allclose(one.numpy(), x, rtol=1e-10)


@pytest.mark.parametrize(("centered", "momentum"), [(False, 0.0), (True, 0.0), (True, 0.6)])
def test_rmsprop_adds_eps_within_the_root(centered, momentum):
    one = tensor(1.0)
    optimizer = flow.optim.RMSprop(
        [one], lr=0.5, alpha=0.9, eps=0.01, momentum=momentum, centered=centered
    )
    x, square, mean, velocity = 1.0, 0.0, 0.0, 0.0
    for gradient in (0.1, -0.3, 0.2):
        one.grad = flow.tensor([gradient])
        optimizer.step()
        square = 0.9 * square + 0.1 * gradient**2
        mean = 0.9 * mean + 0.1 * gradient
        root = np.sqrt(square - (mean**2 if centered else 0) + 0.01)
        velocity = momentum * velocity + gradient / root
        x -= 0.5 * velocity
    assert one.item() == pytest.approx(x, rel=1e-6)


def test_nesterov_with_dampening():
    one = tensor(1.0)
    group = {"params": [one], "dampening": 0.2}
    optimizer = flow.optim.SGD([group], lr=1.0, nesterov=True, momentum=0.5)
    for value in (1 - 1.5, -0.5 - (1 + 0.5 * 1.3)):
        one.grad = flow.ones(1)
        optimizer.step()
        assert one.item() == pytest.approx(value)


NESTEROV = [
    ({}, {}),
    ({"momentum": 0.5}, {}),
    ({}, {"momentum": 0.5}),
    ({"momentum": 0.0}, {"momentum": 0.5}),
    ({"dampening": 0.2}, {"momentum": 0.5}),
    ({"dampening": 0.0}, {"momentum": 0.5, "dampening": 0.2}),
    ({"nesterov": False}, {}),
]


@pytest.mark.parametrize(("group", "options"), NESTEROV)
def test_what_nesterov_goes_with(group, options):
    def outcome(framework):
        try:
            framework.optim.SGD(
                [{"params": [framework.nn.Parameter(framework.ones(1))], **group}],
                lr=1.0,
                nesterov=True,
                **options,
            )
        except ValueError as error:
            return type(error)
        return None

    assert outcome(flow) is outcome(torch)


def test_lr_scale_of_a_group_multiplies_its_learning_rate():
    for make in (flow.optim.SGD, flow.optim.Adam, flow.optim.LBFGS):
        plain, scaled = tensor(1.0, 2.0), tensor(1.0, 2.0)
        steps = ((plain, {"lr": 0.05}), (scaled, {"lr": 0.5, "lr_scale": 0.1}))
        for one, options in steps:
            optimizer = make([{"params": [one], **options}])

            def closure(one=one):
                one.grad = None
                loss = (one**4).sum()
                loss.backward()
                return loss

            optimizer.step(closure)
        assert plain.tolist() == scaled.tolist()


def test_an_optimizer_without_parameters():
    optimizer = flow.optim.Adam(iter([]))
    optimizer.step()
    optimizer.add_param_group({"params": [tensor(1.0)]})
    assert [len(group["params"]) for group in optimizer.param_groups] == [0, 1]


def test_options_may_ask_for_new_state_later():
    one = tensor(1.0)
    optimizer = flow.optim.SGD([one], lr=0.1)
    descend(optimizer, one)
    optimizer.param_groups[0]["momentum"] = 0.5
    optimizer.zero_grad()
    descend(optimizer, one)
    assert one.item() == pytest.approx(0.64)
    assert optimizer.state[one]["momentum_buffer"].item() == pytest.approx(1.6)


def test_sparse_parameters_are_refused():
    sparse = flow.eye(2).to_sparse().requires_grad_()
    with pytest.raises(ValueError, match=r"parameter 1 is of layout oneflow.sparse_coo"):
        flow.optim.SGD([flow.ones(1, requires_grad=True), sparse], lr=0.1)
