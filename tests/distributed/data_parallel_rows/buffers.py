"""Rows about buffers, and about processes without data."""

from __future__ import annotations

from tests.distributed.data_parallel_rows.training import (
    Training,
    inputs,
    mean_square,
    mlp,
    momentum,
    row,
    with_forward,
)


def _statistics(t, rank, **options):
    module = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.BatchNorm1d(4), t.nn.Linear(4, 2))
    module[1].running_mean.fill_(rank + 1.0)

    def loss(model, step, x):
        if step == 1:
            model.eval()
            with t.no_grad():
                evaluated = model(x).sum() + model(x).sum()
            model.train()
            return mean_square(model, step, x) + evaluated
        return mean_square(model, step, x)

    return Training(module, loss, options, momentum(t))


@row
def buffers(t, rank):
    return _statistics(t, rank)


@row
def own_buffers(t, rank):
    return _statistics(t, rank, broadcast_buffers=False)


@row
def buffers_of_the_start(t, rank):
    return _statistics(t, rank, forward_sync_buffers=False)


@row
def ignored_buffers(t, rank):
    training = _statistics(t, rank)
    training.module._ddp_params_and_buffers_to_ignore = ["1.running_mean"]
    return training


@row
def buffers_while_accumulating(t, rank):
    training = _statistics(t, rank)

    def step(model, number, x):
        with model.no_sync():
            for micro in range(2):
                mean_square(model, number, inputs(t, 40 + micro, rank)).backward()
        loss = mean_square(model, number, x)
        loss.backward()
        return loss

    training.step = step
    return training


@row
def buffers_that_the_forward_pass_changes(t, rank):
    def forward(self, x):
        self.count += 1 + rank
        self.mean = self.mean * 0.5 + x.detach().mean() + self.count
        if self.mask is not None:
            self.mask.logical_not_()
        return x * self.w + self.mean

    module = with_forward(
        t,
        forward,
        "w",
        buffers={
            "count": t.tensor(rank),
            "mean": t.tensor(float(rank)),
            "mask": t.tensor([rank == 0, True]),
            "absent": None,
        },
    )
    return Training(module, mean_square)


def uneven(t, rank, module=None, by_all=True, options=None):
    """The second rank has two batches more."""

    def step(model, number, x):
        total = 0.0
        with model.join(divide_by_initial_world_size=by_all):
            for batch in range(2 + 2 * rank):
                for optimizer in model.optimizers:
                    optimizer.zero_grad(set_to_none=True)
                loss = mean_square(model, number, inputs(t, 50 + batch, rank))
                loss.backward()
                for optimizer in model.optimizers:
                    optimizer.step()
                total = total + loss.detach()
        return total

    return Training(
        mlp(t) if module is None else module,
        mean_square,
        options or {},
        momentum(t),
        step=step,
    )


@row
def uneven_data(t, rank):
    return uneven(t, rank)


@row
def uneven_data_divided_by_the_active(t, rank):
    return uneven(t, rank, by_all=False)


@row
def uneven_data_with_buffers(t, rank):
    return uneven(t, rank, _statistics(t, rank).module)


@row
def uneven_data_with_own_buffers(t, rank):
    return uneven(t, rank, _statistics(t, rank).module, options={"broadcast_buffers": False})


@row
def uneven_data_unused_parameters(t, rank):
    module = mlp(t)
    module.never = t.nn.Parameter(t.zeros(2))
    return uneven(t, rank, module, options={"find_unused_parameters": True})


@row
def uneven_data_accumulated(t, rank):
    training = uneven(t, rank)

    def step(model, number, x):
        with model.join():
            for batch in range(2 + 2 * rank):
                with model.no_sync():
                    mean_square(model, number, inputs(t, 60 + batch, rank)).backward()
                loss = mean_square(model, number, inputs(t, 70 + batch, rank))
                loss.backward()
        return loss

    training.step = step
    return training


@row
def uneven_data_that_raise(t, rank):
    def step(model, number, x):
        try:
            with model.join(throw_on_early_termination=True):
                for batch in range(1 + rank):
                    loss = mean_square(model, number, inputs(t, 80 + batch, rank))
                    loss.backward()
        except RuntimeError:
            return loss.detach() + 100
        return loss

    return Training(mlp(t), mean_square, step=step)


def _counter(t):
    """An object that counts the batches of all processes."""
    algorithms, communication = t.distributed.algorithms.join, t.distributed

    class Hook(algorithms.JoinHook):
        def main_hook(self):
            communication.all_reduce(t.zeros(1))

        def post_hook(self, is_last_joiner):
            counter.total += 100 if is_last_joiner else 0

    class Counter(algorithms.Joinable):
        def __init__(self):
            super().__init__()
            self.total = t.zeros(1)

        def join_hook(self, **kwargs):
            return Hook()

        @property
        def join_device(self):
            return t.device("cpu")

        @property
        def join_process_group(self):
            return communication.group.WORLD

        def count(self):
            algorithms.Join.notify_join_context(self)
            number = t.ones(1)
            communication.all_reduce(number)
            self.total += number

    counter = Counter()
    return counter


@row
def uneven_data_counted(t, rank):
    """Two objects that communicate in each step."""

    def step(model, number, x):
        counter = _counter(t)
        with t.distributed.algorithms.join.Join([vars(model).get("joined", model), counter]):
            for batch in range(3 - 2 * rank):
                mean_square(model, number, inputs(t, 90 + batch, rank)).backward()
                counter.count()
        return counter.total

    def join(model):
        """Give OneFlow's own module the place in `Join` that the module around it has."""
        if not isinstance(model, t.distributed.algorithms.join.Joinable):
            model.joined = model.join()._joinables[0]

    return Training(mlp(t), mean_square, step=step, prepare=join)
