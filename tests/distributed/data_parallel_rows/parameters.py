"""Rows about which parameters take part, and their dtypes."""

from __future__ import annotations

from tests.distributed.data_parallel_rows.training import (
    Training,
    mean_square,
    mlp,
    momentum,
    row,
    with_forward,
)


@row
def plain(t, rank):
    return Training(mlp(t), mean_square)


@row
def bucket_view(t, rank):
    return Training(mlp(t), mean_square, {"gradient_as_bucket_view": True}, momentum(t))


def partly(t, rank, uses, **options):
    """A parameter `u` that is used where `uses(step, rank)` says, and one that never is."""

    def forward(self, x, step):
        y = x * self.w
        return y * self.u if uses(step, rank) else y

    module = with_forward(t, forward, "w", "u", "never")
    return Training(
        module,
        lambda model, step, x: (model(x, step) ** 2).mean(),
        {"find_unused_parameters": True, **options},
        momentum(t),
    )


@row
def never_used(t, rank):
    return partly(t, rank, lambda step, rank: False)


@row
def used_in_the_first_step(t, rank):
    return partly(t, rank, lambda step, rank: step == 0)


@row
def used_in_the_first_step_gradients_as_zeros(t, rank):
    training = partly(t, rank, lambda step, rank: step == 0)
    training.zero_grad = {"set_to_none": False}
    return training


@row
def used_on_the_second_rank(t, rank):
    return partly(t, rank, lambda step, rank: rank == 1)


@row
def used_in_turns(t, rank):
    return partly(t, rank, lambda step, rank: step % 2 == rank)


@row
def used_in_turns_bucket_view(t, rank):
    return partly(t, rank, lambda step, rank: step % 2 == rank, gradient_as_bucket_view=True)


@row
def used_in_turns_accumulated(t, rank):
    training = partly(t, rank, lambda step, rank: step % 2 == rank)
    training.zero_grad = None
    return training


@row
def static_graph_with_unused(t, rank):
    training = partly(t, rank, lambda step, rank: True)
    training.options = {"static_graph": True}
    return training


@row
def frozen(t, rank):
    module = mlp(t)
    module[0].weight.requires_grad_(False)
    return Training(module, mean_square, optimizers=momentum(t))


@row
def frozen_later(t, rank):
    def freeze(module, step):
        if step == 0:
            module[0].weight.requires_grad_(False)

    training = Training(mlp(t), mean_square, {"find_unused_parameters": True}, momentum(t))
    training.after_backward = freeze
    return training


@row
def frozen_for_a_while(t, rank):
    """As the networks of a pair that is trained in turns."""

    def loss(model, step, x):
        for parameter in model.module[0].parameters():
            parameter.requires_grad_(step != 1)
        return mean_square(model, step, x)

    return Training(mlp(t), loss, {"find_unused_parameters": True}, momentum(t))


@row
def own_parameters(t, rank):
    return Training(mlp(t), mean_square, {"init_sync": False}, momentum(t))


@row
def ignored_by_name(t, rank):
    module = mlp(t)
    module._ddp_params_and_buffers_to_ignore = ["0.weight"]
    return Training(module, mean_square)


@row
def tied(t, rank):
    module = t.nn.Sequential(t.nn.Linear(3, 3), t.nn.Tanh(), t.nn.Linear(3, 3))
    module[2].weight = module[0].weight
    return Training(module, mean_square, optimizers=momentum(t))


@row
def nested(t, rank):
    module = t.nn.ModuleDict({"a": t.nn.Sequential(mlp(t), t.nn.Linear(2, 2)), "b": mlp(t)})
    module.forward = lambda x: module["a"](x) + module["b"](x)
    return Training(module, mean_square)


@row
def mixed_dtypes(t, rank):
    def forward(self, x):
        return (x * self.w).double() * self.d + (x * self.h.float())

    module = with_forward(t, forward, "w", "d", "h")
    module.d = t.nn.Parameter(t.zeros(3, dtype=t.float64))
    module.h = t.nn.Parameter(t.zeros(3, dtype=t.bfloat16))
    return Training(module, mean_square)


@row
def half_precision_sums(t, rank):
    """The sum of the gradients is no float16, their mean is."""

    def forward(self, x):
        return self.w * t.full((3,), 50000.0, dtype=t.float16)

    module = with_forward(t, forward)
    module.w = t.nn.Parameter(t.zeros(3, dtype=t.float16))
    return Training(
        module,
        lambda model, step, x: model(x)[0],
        optimizers=lambda module: [t.optim.SGD(module.parameters(), lr=0.125)],
    )


@row
def complex_parameters(t, rank):
    module = with_forward(t, lambda self, x: x * self.w)
    module.w = t.nn.Parameter(t.zeros(3, dtype=t.complex64))
    return Training(module, lambda model, step, x: model(x).abs().square().sum())
