"""Rows about what happens in a step."""

from __future__ import annotations

from tests.distributed.data_parallel_rows.parameters import partly
from tests.distributed.data_parallel_rows.training import (
    Training,
    inputs,
    mean_square,
    mlp,
    momentum,
    row,
)


@row
def accumulated_without_exchange(t, rank):
    def step(model, number, x):
        with model.no_sync():
            for micro in range(2):
                (model(inputs(t, 10 + micro, rank)) ** 2).mean().backward()
        loss = mean_square(model, number, x)
        loss.backward()
        return loss

    return Training(mlp(t), mean_square, optimizers=momentum(t), step=step)


@row
def never_exchanged(t, rank):
    def step(model, number, x):
        with model.no_sync():
            loss = mean_square(model, number, x)
            loss.backward()
        return loss

    return Training(mlp(t), mean_square, step=step)


@row
def unused_without_exchange(t, rank):
    """A parameter is used while gradients are accumulated only."""
    training = partly(t, rank, lambda step, rank: step < 0)

    def step(model, number, x):
        with model.no_sync():
            model(inputs(t, 20, rank), -1).sum().backward()
        loss = model(x, number).sum()
        loss.backward()
        return loss

    training.step = step
    return training


@row
def exchange_decided_by_the_forward_pass(t, rank):
    def step(model, number, x):
        with model.no_sync():
            loss = mean_square(model, number, x)
        loss.backward()
        loss = mean_square(model, number, x)
        with model.no_sync():
            loss.backward()
        return loss

    return Training(mlp(t), mean_square, step=step)


@row
def two_forward_passes(t, rank):
    def loss(model, step, x):
        return mean_square(model, step, x) + model(inputs(t, 30 + step, rank)).sum()

    return Training(mlp(t), loss)


@row
def forward_pass_without_gradients_between(t, rank):
    def loss(model, step, x):
        result = mean_square(model, step, x)
        with t.no_grad():
            model(x)
        return result

    return Training(mlp(t), loss)


@row
def gradients_never_taken_away(t, rank):
    return Training(mlp(t), mean_square, optimizers=momentum(t), zero_grad=None)


@row
def gradients_set_to_zero(t, rank):
    return Training(mlp(t), mean_square, zero_grad={"set_to_none": False})


@row
def clipped(t, rank):
    def clip(module, step):
        t.nn.utils.clip_grad_norm_(module.parameters(), 0.1)

    return Training(mlp(t), mean_square, optimizers=momentum(t), after_backward=clip)


@row
def several_optimizers(t, rank):
    def optimizers(module):
        return [
            t.optim.Adam(module[0].parameters(), lr=0.1, weight_decay=0.1),
            t.optim.AdamW([module[2].weight], lr=0.1, weight_decay=0.1),
            t.optim.RMSprop([module[2].bias], lr=0.1, momentum=0.9),
        ]

    return Training(mlp(t), mean_square, optimizers=optimizers)


@row
def several_optimizers_of_unused(t, rank):
    training = partly(t, rank, lambda step, rank: step == 0)

    def optimizers(module):
        return [
            t.optim.Adam([module.u, module.never], lr=0.1, weight_decay=0.1),
            t.optim.AdamW([module.w], lr=0.1),
        ]

    training.optimizers = optimizers
    return training


@row
def gradient_hooks(t, rank):
    def triple(parameter):
        parameter.grad.mul_(3)

    def prepare(model):
        model.module[0].weight.register_hook(lambda grad: grad * (2 + rank))
        model.module[2].bias.register_post_accumulate_grad_hook(triple)

    return Training(mlp(t), mean_square, prepare=prepare)


@row
def gradient_of_the_input(t, rank):
    """A gradient penalty: a backward pass that gives the parameters nothing, then one that does."""

    def loss(model, step, x):
        x.requires_grad_()
        result = model(x).sum()
        (grad,) = t.autograd.grad(result, x, create_graph=True)
        return (grad**2).sum() + result

    return Training(mlp(t), loss)


@row
def checkpointed(t, rank):
    def loss(model, step, x):
        return t.utils.checkpoint.checkpoint(model, x, use_reentrant=False).square().sum()

    return Training(mlp(t), loss)
