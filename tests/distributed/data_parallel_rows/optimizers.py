"""Rows about optimizers that take part in what the processes exchange."""

from __future__ import annotations

import pytest

from tests.distributed.data_parallel_rows.training import (
    Training,
    inputs,
    mean_square,
    mlp,
    momentum,
    row,
)


def divided(t, **options):
    """Training whose optimizer's state is divided."""

    def optimizers(module):
        return [t.distributed.optim.ZeroRedundancyOptimizer(module.parameters(), **options)]

    return Training(mlp(t), mean_square, {}, optimizers)


@row
def divided_states(t, rank):
    return divided(t, optimizer_class=t.optim.Adam, lr=0.1, weight_decay=0.1)


@row
def divided_states_as_views(t, rank):
    options = {"momentum": 0.9, "parameters_as_bucket_view": True}
    return divided(t, optimizer_class=t.optim.SGD, lr=0.1, **options)


@row
def divided_groups_with_a_schedule(t, rank):
    """Groups have rates of their own, a later one among them, and a parameter stays as it is."""
    training = divided(t, optimizer_class=t.optim.AdamW)
    training.module[2].bias.requires_grad_(False)

    def optimizers(module):
        groups = [{"params": list(module[0].parameters()), "lr": 0.2}]
        optimizer = t.distributed.optim.ZeroRedundancyOptimizer(groups, t.optim.AdamW, lr=0.1)
        optimizer.add_param_group({"params": module[2].parameters(), "weight_decay": 0.5})
        training.schedule = t.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
        return [optimizer]

    def after_backward(module, step):
        if step:
            training.schedule.step()

    training.optimizers, training.after_backward = optimizers, after_backward
    return training


@row
def divided_groups_of_several_types(t, rank):
    """A later group may have another dtype; what is frozen behind the backward pass is updated."""
    training = divided(t, optimizer_class=t.optim.SGD, lr=0.1)
    training.module[2].double()

    def optimizers(module):
        optimizer = t.distributed.optim.ZeroRedundancyOptimizer(
            module[0].parameters(), t.optim.SGD, lr=0.1
        )
        optimizer.add_param_group({"params": module[2].parameters()})
        return [optimizer]

    def step(model, number, x):
        for parameter in model.parameters():
            parameter.requires_grad_()
        first = model.module[0] if hasattr(model, "module") else model[0]
        last = model.module[2] if hasattr(model, "module") else model[2]
        loss = (last(t.tanh(first(x)).double()) ** 2).mean()
        loss.backward()
        model_parameters = list(model.parameters())
        for parameter in model_parameters[number:]:
            parameter.requires_grad_(False)
        return loss

    training.optimizers, training.step = optimizers, step
    return training


@row
def divided_states_that_are_saved_and_loaded(t, rank):
    """Each state belongs to its parameter in the file, and goes back to the part it is of."""
    training = divided(t, optimizer_class=t.optim.Adam, lr=0.1)

    def after_backward(module, step):
        (optimizer,) = training.made
        if step == 0:
            with pytest.raises(RuntimeError, match="consolidate"):
                optimizer.state_dict()
            return
        for to in range(2):
            optimizer.consolidate_state_dict(to)
            objects = [optimizer.state_dict() if rank == to else None]
            t.distributed.broadcast_object_list(objects, to)
        (state,) = objects
        assert [group["params"] for group in state["param_groups"]] == [[0, 1, 2, 3]]
        shapes = {number: tuple(of["exp_avg"].shape) for number, of in state["state"].items()}
        assert shapes == {0: (4, 3), 1: (4,), 2: (2, 4), 3: (2,)}
        new = t.distributed.optim.ZeroRedundancyOptimizer(
            module.parameters(), optimizer_class=t.optim.Adam, lr=0.5
        )
        new.load_state_dict(state)
        assert [group["lr"] for group in (*new.param_groups, *new.optim.param_groups)] == [0.1] * 2
        optimizer.optim = new.optim

    def optimizers(module):
        training.made = [
            t.distributed.optim.ZeroRedundancyOptimizer(module.parameters(), t.optim.Adam, lr=0.1)
        ]
        return training.made

    training.optimizers, training.after_backward = optimizers, after_backward
    return training


@row
def divided_states_with_uneven_data(t, rank):
    """A process without data steps as the others do."""
    training = divided(t, optimizer_class=t.optim.Adam, lr=0.1)

    def optimizers(module):
        training.made = [
            t.distributed.optim.ZeroRedundancyOptimizer(module.parameters(), t.optim.Adam, lr=0.1)
        ]
        return []

    def step(model, number, x):
        (optimizer,) = training.made
        join = t.distributed.algorithms.join.Join
        loss = mean_square(model, number, x)
        with join([model, optimizer]):
            for turn in range(1 + rank):
                loss = mean_square(model, number, inputs(t, 10 * number + turn, rank))
                loss.backward()
                optimizer.step()
        return loss

    training.optimizers, training.step = optimizers, step
    training.needs_wrapper = True
    return training


def averaged(t, averager, **options):
    """Training by steps of each process alone, and means of the parameters."""

    def optimizers(module):
        local = momentum(t)(module)[0]
        return [t.distributed.optim.PostLocalSGDOptimizer(local, averager)]

    def prepare(model):
        hooks = t.distributed.algorithms.ddp_comm_hooks
        model.register_comm_hook(None, hooks.debugging_hooks.noop_hook)

    return Training(mlp(t), mean_square, {}, optimizers, prepare=prepare, needs_wrapper=True)


@row
def averaged_in_every_second_step(t, rank):
    averagers = t.distributed.algorithms.model_averaging.averagers
    return averaged(t, averagers.PeriodicModelAverager(period=2, warmup_steps=1))


@row
def averaged_in_groups(t, rank):
    averaging = t.distributed.algorithms.model_averaging.hierarchical_model_averager
    return averaged(t, averaging.HierarchicalModelAverager({1: 1, 2: 2}))


@row
def averaged_with_a_saved_step(t, rank):
    averagers = t.distributed.algorithms.model_averaging.averagers
    averager = averagers.PeriodicModelAverager(period=3, warmup_steps=0)
    training = averaged(t, averager)
    make = training.optimizers

    def optimizers(module):
        (optimizer,) = make(module)
        state = optimizer.state_dict()
        assert state["step"] == 0
        optimizer.load_state_dict({**state, "step": 2})
        assert averager.step == 2
        return [optimizer]

    training.optimizers = optimizers
    return training
