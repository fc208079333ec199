"""Rows about where a module puts its results."""

from __future__ import annotations

from tests.distributed.data_parallel_rows.training import Training, momentum, row, with_forward


@row
def results_in_a_mapping(t, rank):
    def forward(self, x):
        return {"used": [x * self.w], "unused": (x * self.u, 3, "text", None)}

    def loss(model, step, x):
        return model(x)["used"][0].sum()

    module = with_forward(t, forward, "w", "u")
    return Training(module, loss, {"find_unused_parameters": True}, momentum(t))


@row
def two_results(t, rank):
    module = with_forward(t, lambda self, x: (x * self.w, x + self.u), "w", "u")
    return Training(module, lambda model, step, x: sum(tensor.sum() for tensor in model(x)))


class Hidden:
    """An object of which data parallelism knows nothing."""

    def __init__(self, tensor):
        self.tensor = tensor


@row
def results_in_an_object(t, rank):
    module = with_forward(t, lambda self, x: Hidden(x * self.w), "w")
    return Training(module, lambda model, step, x: model(x).tensor.sum())


@row
def results_beside_an_object(t, rank):
    def forward(self, x):
        return x * self.u, Hidden(x * self.w)

    def loss(model, step, x):
        return model(x)[1].tensor.sum() + model.module.u.sum() * (1 + rank)

    return Training(with_forward(t, forward, "w", "u"), loss)


@row
def results_in_the_module(t, rank):
    def forward(self, x):
        self.result = x * self.w

    def loss(model, step, x):
        model(x)
        return model.module.result.sum()

    return Training(with_forward(t, forward, "w"), loss)
