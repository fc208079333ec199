"""Lookups of `one_embedding` in `build` of graphs, as OneFlow's own examples have them."""

from __future__ import annotations

import numpy as np
import pytest

import oneflow as flow

one = flow.one_embedding
UNIFORM = one.make_uniform_initializer(-1.0, 1.0)


class Model(flow.nn.Module):
    def __init__(self, path, **options):
        super().__init__()
        options = {"tables": [one.make_table_options(UNIFORM)] * 2, **options}
        store = one.make_device_mem_store_options(str(path), 1000, 3)
        self.embedding = one.MultiTableEmbedding(
            "e", 4, flow.float, flow.int64, store_options=store, **options
        )
        self.register_buffer("offsets", flow.tensor([0, 100]))
        self.head = flow.nn.Linear(8, 1)
        with flow.no_grad():
            for parameter in self.head.parameters():
                parameter.copy_(
                    flow.linspace(-0.5, 0.5, parameter.numel()).reshape(parameter.shape)
                )

    def forward(self, ids):
        rows = self.embedding(ids + self.offsets)
        return self.head(rows.reshape(len(ids), -1)).pow(2).mean()


class Train(flow.nn.Graph):
    def __init__(self, model, make, accumulated=1):
        super().__init__()
        self.model = model
        tables, dense = model.embedding.parameters(), model.head.parameters()
        for parameters in (tables, dense):
            optimizer = make(parameters)
            schedule = flow.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
            self.add_optimizer(optimizer, lr_sch=schedule)
        self.config.set_gradient_accumulation_steps(accumulated)

    def build(self, ids):
        loss = self.model(ids)
        loss.backward()
        return loss


OPTIMIZERS = {
    "SGD": lambda params: flow.optim.SGD(params, lr=0.5),
    "Adam": lambda params: flow.optim.Adam(params, lr=0.1),
    "SmartDecayAdam": lambda params: one.SmartDecayAdam(params, lr=0.1),
}


def batches(count=5):
    rng = np.random.default_rng(0)
    return [flow.tensor(rng.integers(0, 12, (6, 2))) for _ in range(count)]


def eager_losses(model, make):
    steps = [
        one.Optimizer(make(model.embedding.parameters()), [model.embedding]),
        make(model.head.parameters()),
    ]
    schedules = [
        flow.optim.lr_scheduler.StepLR(getattr(step, "optimizer", step), 2, 0.5) for step in steps
    ]
    losses = []
    for ids in batches():
        loss = model(ids)
        loss.backward()
        for stepper in (*steps, *schedules):
            stepper.step()
        for step in steps:
            step.zero_grad()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_graphs_train_tables_as_eager_mode_does(tmp_path, name):
    expected = Model(tmp_path / "eager")
    losses = eager_losses(expected, OPTIMIZERS[name])
    model = Model(tmp_path / "graph")
    graph = Train(model, OPTIMIZERS[name])
    np.testing.assert_allclose([graph(ids).item() for ids in batches()], losses, rtol=1e-5)
    ids = flow.arange(12).reshape(6, 2)
    np.testing.assert_allclose(
        model.embedding.eval()(ids).numpy(), expected.embedding.eval()(ids).numpy(), rtol=1e-4
    )
    assert len(graph._steps) == 1


def test_gradients_of_micro_batches_add_up(tmp_path):
    losses = eager_losses(Model(tmp_path / "eager"), OPTIMIZERS["SGD"])
    graph = Train(Model(tmp_path / "graph"), OPTIMIZERS["SGD"], accumulated=2)
    found = [graph(ids).numpy().mean() for ids in batches()]
    np.testing.assert_allclose(found, losses, rtol=1e-5)


def test_steps_of_several_shapes_share_the_tables(tmp_path):
    model = Model(tmp_path)
    graph = Train(model, OPTIMIZERS["SGD"])
    ids = batches()[0]
    graph(ids)
    with pytest.warns(UserWarning, match="compiled again"):
        graph(ids[:4])
    graph(ids)
    assert model.embedding.store.step == 3


def test_training_does_not_compile_inference_again(tmp_path):
    model = Model(tmp_path)
    train = Train(model, OPTIMIZERS["SGD"])

    class Evaluate(flow.nn.Graph):
        def __init__(self):
            super().__init__()
            self.model = model

        def build(self, ids):
            return self.model(ids)

    evaluate, losses = Evaluate(), []
    for ids in batches():
        train(ids)
        losses.append((evaluate(ids).item(), model(ids).item()))
    assert len(evaluate._steps) == 1
    np.testing.assert_allclose(*np.transpose(losses), rtol=1e-5)


def test_inference_changes_no_row(tmp_path):
    model = Model(tmp_path, padding_idx=103)
    model.eval()

    class Rows(flow.nn.Graph):
        def __init__(self):
            super().__init__()
            self.model = model

        def build(self, ids, table_ids):
            return self.model.embedding(ids, table_ids)

    ids, tables = flow.tensor([[3, 103, 7]]), flow.tensor([[0, 1, 1]])
    rows = Rows()(ids, tables)
    assert rows.tolist() == model.embedding(ids, tables).tolist()
    assert not rows[0, 1].any()
    assert not model.embedding.lookup_records


def test_ids_on_a_placement(tmp_path):
    place = flow.placement("cpu", [0, 1])
    model = Model(tmp_path / "global").to_global(place, flow.sbp.broadcast)
    losses = eager_losses(Model(tmp_path / "eager"), OPTIMIZERS["Adam"])
    graph = Train(model, OPTIMIZERS["Adam"])
    found = [graph(ids.to_global(place, flow.sbp.split(0))).item() for ids in batches()]
    np.testing.assert_allclose(found, losses, rtol=1e-5)


def test_ids_that_are_drawn_in_the_step_are_refused(tmp_path):
    model = Model(tmp_path)

    class Drawn(flow.nn.Graph):
        def __init__(self):
            super().__init__()
            self.model = model

        def build(self):
            return self.model(flow.randint(0, 5, (6, 2)))

    with pytest.raises(RuntimeError, match="random numbers"):
        Drawn()()


def test_gradients_of_rows_are_unscaled(tmp_path):
    losses = []
    for scale in (None, 64.0):
        graph = Train(Model(tmp_path / str(scale)), OPTIMIZERS["SGD"])
        graph.set_grad_scaler(None if scale is None else flow.amp.StaticGradScaler(scale))
        losses.append([graph(batch).item() for batch in batches()])
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)


def test_a_gradient_scaler_that_skips_steps_is_refused(tmp_path):
    graph = Train(Model(tmp_path), OPTIMIZERS["SGD"])
    graph.set_grad_scaler(flow.amp.GradScaler())
    with pytest.raises(RuntimeError, match="StaticGradScaler"):
        graph(batches()[0])
