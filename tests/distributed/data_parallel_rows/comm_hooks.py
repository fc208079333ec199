"""Rows about functions that exchange gradients in place of the mean."""

from __future__ import annotations

from tests.distributed.data_parallel_rows.buffers import uneven
from tests.distributed.data_parallel_rows.parameters import partly
from tests.distributed.data_parallel_rows.training import (
    Training,
    inputs,
    mean_square,
    mlp,
    momentum,
    row,
)


def hooked(t, hook, state=None, **options):
    """Training by a function of users."""

    def prepare(model):
        model.register_comm_hook(state, hook)

    return Training(mlp(t), mean_square, options, momentum(t), prepare=prepare, needs_wrapper=True)


def hooks_of(t):
    return t.distributed.algorithms.ddp_comm_hooks


@row
def exchanged_by_means(t, rank):
    return hooked(t, hooks_of(t).default_hooks.allreduce_hook)


@row
def exchanged_as_float16(t, rank):
    return hooked(t, hooks_of(t).default_hooks.fp16_compress_hook)


@row
def exchanged_by_a_hook_of_cpp(t, rank):
    training = hooked(t, None)
    training.prepare = lambda model: model._register_builtin_comm_hook(
        t.distributed.BuiltinCommHookType.FP16_COMPRESS
    )
    return training


@row
def exchanged_by_a_wrapper(t, rank):
    hooks = hooks_of(t).default_hooks
    return hooked(t, hooks.fp16_compress_wrapper(hooks.allreduce_hook))


@row
def not_exchanged_at_all(t, rank):
    return hooked(t, hooks_of(t).debugging_hooks.noop_hook)


@row
def exchanged_by_small_groups_later(t, rank):
    hooks = hooks_of(t).post_localSGD_hook
    groups = [t.distributed.new_group([member]) for member in range(2)]
    state = hooks.PostLocalSGDState(None, groups[rank], start_localSGD_iter=1)
    return hooked(t, hooks.post_localSGD_hook, state)


@row
def exchanged_in_factors(t, rank):
    """Factors that are as wide as the matrices lose nothing, whatever they begin with."""
    hooks = hooks_of(t).powerSGD_hook
    state = hooks.PowerSGDState(
        None, matrix_approximation_rank=4, start_powerSGD_iter=2, min_compression_rate=0.1
    )
    return hooked(t, hooks.powerSGD_hook, state)


@row
def exchanged_as_sums(t, rank):
    """The function's state is used, and the results of a collective operation go on."""

    def add_up(state, bucket):
        bucket.buffer().mul_(state["scale"])
        work = t.distributed.all_reduce(bucket.buffer(), async_op=True)
        return work.get_future().then(lambda future: future.value()[0] / 2)

    return hooked(t, add_up, {"scale": 0.5 + rank})


@row
def exchanged_by_their_signs(t, rank):
    """Gradients are written one by one, through the views that the bucket gives."""

    def signs(state, bucket):
        for gradient, parameter in zip(bucket.gradients(), bucket.parameters(), strict=True):
            assert gradient.shape == parameter.shape
            gradient.copy_(gradient.sign() * (2 if parameter.ndim > 1 else 1))
        return (
            t.distributed.all_reduce(bucket.buffer(), async_op=True)
            .get_future()
            .then(lambda future: future.value()[0])
        )

    return hooked(t, signs)


@row
def exchanged_after_accumulation(t, rank):
    training = hooked(t, hooks_of(t).default_hooks.fp16_compress_hook)

    def step(model, number, x):
        with model.no_sync():
            (model(inputs(t, 40, rank)) ** 2).mean().backward()
        loss = mean_square(model, number, x)
        loss.backward()
        return loss

    training.step = step
    return training


@row
def exchanged_though_a_rank_does_not_use_it(t, rank):
    training = partly(t, rank, lambda step, rank: step == rank)
    hook = hooks_of(t).default_hooks.allreduce_hook
    training.prepare = lambda model: model.register_comm_hook(None, hook)
    training.needs_wrapper = True
    return training


@row
def exchanged_with_uneven_data(t, rank):
    training = uneven(t, rank)
    hook = hooks_of(t).default_hooks.fp16_compress_hook
    training.prepare = lambda model: model.register_comm_hook(None, hook)
    training.needs_wrapper = True
    return training
