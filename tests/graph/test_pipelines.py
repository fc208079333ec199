"""Graphs over several placements: pipelines give what one device gives."""

import itertools
from xml.etree import ElementTree

import numpy as np
import pytest

import oneflow as flow
from oneflow.passes.partition import BACKWARD, FORWARD
from tests.runtime.interruptions import delays, run_interrupted

S, B = flow.sbp.split, flow.sbp.broadcast


def places(*ranks):
    return [flow.placement("cpu", rank) for rank in ranks]


class Stage(flow.nn.Module):
    """Some layers, the last without activation."""

    def __init__(self, *sizes):
        super().__init__()
        pairs = itertools.pairwise(sizes)
        self.layers = flow.nn.ModuleList([flow.nn.Linear(*pair) for pair in pairs])

    def forward(self, x):
        for layer in self.layers:
            x = flow.relu(layer(x))
        return x


class Net(flow.nn.Module):
    """Three unlike stages, and a dropout whose numbers must not depend on where it runs."""

    def __init__(self, dropout=0.2):
        super().__init__()
        flow.manual_seed(0)
        self.stages = flow.nn.ModuleList([Stage(6, 8), Stage(8, 10, 10), Stage(10, 8)])
        self.dropout = flow.nn.Dropout(dropout)
        self.head = flow.nn.Linear(8, 4)

    def forward(self, x):
        for stage in self.stages:
            x = stage(x)
        return self.head(self.dropout(x))


class Training(flow.nn.Graph):
    def __init__(self, net, optimizer, batches, placements=(), **settings):
        super().__init__()
        self.net = net
        self.loss = flow.nn.CrossEntropyLoss()
        self.add_optimizer(optimizer)
        self.config.set_gradient_accumulation_steps(batches)
        for index, stage in enumerate(placements):
            self.net.stages[index].config.set_stage(index, stage)
        if placements:
            self.net.head.config.set_stage(len(placements) - 1, placements[-1])
        for name, make in settings.items():
            getattr(self, name)(make())

    def build(self, x, y):
        logits = self.net(x)
        loss = self.loss(logits, y)
        loss.backward()
        return loss, logits


def data(rows=16):
    flow.manual_seed(1)
    return flow.randn(rows, 6), flow.randint(0, 4, (rows,))


def optimizer_of(net, kind=flow.optim.AdamW, **options):
    return kind([{"params": list(net.parameters()), **options}], lr=0.05)


def losses_of(graph, x, y, calls=4):
    flow.manual_seed(3)
    return np.array([graph(x, y)[0].numpy() for _ in range(calls)])


def one_device(batches, options=None, dropout=0.2, **settings):
    net = Net(dropout)
    graph = Training(net, optimizer_of(net, **(options or {})), batches, **settings)
    return losses_of(graph, *data()), net


def pipelined(placements, sbp, batches, options=None, dropout=0.2, **settings):
    net = Net(dropout)
    for stage, place in zip(net.stages, placements, strict=True):
        stage.to_global(place, [B] * place.ndim)
    net.head.to_global(placements[-1], [B] * placements[-1].ndim)
    graph = Training(net, optimizer_of(net, **(options or {})), batches, placements, **settings)
    x, y = data()
    first, last = placements[0], placements[-1]
    x = x.to_global(first, [B] * first.ndim).to_global(sbp=sbp)
    y = y.to_global(last, [B] * last.ndim).to_global(sbp=sbp)
    return losses_of(graph, x, y), net, graph


def pipeline_of(graph):
    (step,) = graph._steps.values()
    return step.executable


LAYOUTS = {
    "three devices": (places([0], [1], [2]), (B,)),
    "two stages share a device": (places([0], [1], [0]), (B,)),
    "replicas": (places([0, 1], [2, 3], [4, 5]), (S(0),)),
    "from two devices to one and three": (places([0, 1], [2], [3, 4, 5]), (B,)),
    "overlapping": (places([0, 1], [1, 2], [2, 3]), (S(0),)),
    "a grid per stage": (places([[0, 1], [2, 3]], [[4, 5], [6, 7]], [[0, 1], [2, 3]]), (S(0), B)),
}


# Rows that take seconds to compile; two of them in a sample.
SLOW = ("scaler", "activations", "together", "checkpointing")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_pipeline_trains_as_one_device_does(layout, sample):
    sample.take_turns(LAYOUTS, layout)
    placements, sbp = LAYOUTS[layout]
    # Micro batches of split rows have other rows: the same in all, but other dropout.
    dropout = 0.2 if sbp == (B,) else 0.0
    expected, whole = one_device(4, dropout=dropout)
    found, net, graph = pipelined(placements, sbp, 4, dropout=dropout)
    if dropout == 0:
        found, expected = found.mean(1), expected.mean(1)
    np.testing.assert_allclose(found, expected, rtol=2e-5)
    for one, other in zip(whole.parameters(), net.parameters(), strict=True):
        np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=2e-4, atol=2e-6)
    assert pipeline_of(graph).stages == list(dict.fromkeys(placements))


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ({"clip_grad_max_norm": 0.1, "clip_grad_norm_type": 2.0}, {}),
        ({}, {"set_grad_scaler": lambda: flow.amp.StaticGradScaler(64.0)}),
    ],
    ids=["clipping", "scaler"],
)
def test_what_spans_stages(options, settings):
    # AdamW's steps would not show by how much gradients are scaled.
    sgd = {"kind": flow.optim.SGD, "lr": 0.5}
    expected, _ = one_device(2, sgd | options, **settings)
    plain, _ = one_device(2, sgd)
    assert np.allclose(expected, plain, rtol=1e-3) is not bool(options)  # clipping changes losses
    found, _, _ = pipelined(*LAYOUTS["three devices"], 2, sgd | options, **settings)
    np.testing.assert_allclose(found, expected, rtol=2e-5)


def test_a_scaler_that_skips_steps(sample):
    sample.take_turns(SLOW, "scaler")

    def scaler():
        return flow.amp.GradScaler(init_scale=2.0**126, growth_interval=2)

    expected, _ = one_device(2, set_grad_scaler=scaler)
    found, _, _ = pipelined(*LAYOUTS["three devices"], 2, set_grad_scaler=scaler)
    np.testing.assert_allclose(found, expected, rtol=2e-5)


def test_micro_batches_share_programs_and_each_stage_holds_few_of_them():
    _, _, graph = pipelined(*LAYOUTS["three devices"], 8)
    pipeline = pipeline_of(graph)
    assert list(pipeline.max_live_micro_batches().values()) == [3, 2, 1]
    tasks = pipeline.partition.tasks
    assert sum(task.phase.kind == FORWARD for task in tasks) == 24
    assert sum(task.phase.kind == BACKWARD for task in tasks) == 24
    # Per stage: slices of arguments, forward, backward, backward that adds to gradients, update.
    assert len(pipeline._executables) <= 3 * 5


def test_activations_kept_do_not_grow_with_the_number_of_micro_batches(sample):
    sample.take_turns(SLOW, "activations")

    def most(batches):
        _, _, graph = pipelined(*LAYOUTS["three devices"], batches)
        kept = pipeline_of(graph).live_bytes()
        rows = 16 // batches
        return [max(size for _, size in spans) / rows for spans in kept.values()]

    few, many = most(4), most(16)
    # Slices of the arguments and accumulated gradients do not depend on the order of tasks.
    assert all(later <= 5 * earlier for earlier, later in zip(few, many, strict=True))


def test_pipeline_data_and_tensor_parallelism_together(sample):
    sample.take_turns(SLOW, "together")
    expected, _ = one_device(4, dropout=0.0)
    grids = places([[0, 1], [2, 3]], [[4, 5], [6, 7]], [[0, 1], [2, 3]])
    net = Net(dropout=0.0)
    for stage, grid in zip(net.stages, grids, strict=True):
        stage.to_global(grid, (B, B))
        for number, layer in enumerate(stage.layers):
            # Columns and rows in turn, along the second dimension of the grid.
            layer.weight.data = layer.weight.data.to_global(sbp=(B, S(number % 2)))
    net.head.to_global(grids[-1], (B, B))
    graph = Training(net, optimizer_of(net), 4, grids)
    x, y = data()
    x = x.to_global(grids[0], (B, B)).to_global(sbp=(S(0), B))
    y = y.to_global(grids[-1], (B, B)).to_global(sbp=(S(0), B))
    found = losses_of(graph, x, y)
    np.testing.assert_allclose(found.mean(1), expected.mean(1), rtol=2e-5)
    assert net.stages[1].layers[1].weight.sbp == (B, S(1))


def test_stages_that_share_a_parameter():
    class Tied(flow.nn.Module):
        def __init__(self, first=None, last=None):
            super().__init__()
            flow.manual_seed(0)
            self.embedding = flow.nn.Embedding(12, 8)
            self.inner = flow.nn.Linear(8, 8)
            self.last = last
            if first is not None:
                self.embedding.to_global(first, B)
                self.inner.to_global(last, B)

        def forward(self, tokens):
            x, table = self.embedding(tokens), self.embedding.weight
            if self.last is not None:
                x, table = x.to_global(self.last, B), table.to_global(self.last, B)
            return flow.relu(self.inner(x)) @ table.T

    class Graph(flow.nn.Graph):
        def __init__(self, net):
            super().__init__()
            self.net = net
            self.config.set_gradient_accumulation_steps(4)
            self.add_optimizer(flow.optim.Adam(net.parameters(), lr=0.02))

        def build(self, tokens, target):
            logits = self.net(tokens)
            loss = flow.nn.functional.cross_entropy(logits, target)
            loss.backward()
            return loss

    tokens, target = flow.arange(8) % 5, flow.arange(8) % 12
    graph = Graph(Tied())
    expected = [graph(tokens, target).numpy() for _ in range(4)]
    first, last = places([0], [1])
    graph = Graph(Tied(first, last))
    tokens, target = tokens.to_global(first, B), target.to_global(last, B)
    found = [graph(tokens, target).numpy() for _ in range(4)]
    np.testing.assert_allclose(found, expected, rtol=2e-5)
    transferred = [
        transfer.source for transfer in pipeline_of(graph).partition.transfer_by_result.values()
    ]
    assert len(transferred) == len(set(transferred)), (
        "the table is carried once, not once per micro batch"
    )


def test_there_and_back():
    first, second = places([0], [1])

    class Graph(flow.nn.Graph):
        def build(self, x):
            y = (x * 2).to_global(second, B) + 1
            return y.to_global(first, B) * x, y

    x = flow.arange(3.0).to_global(first, B)
    back, there = Graph()(x)
    assert (back.placement, there.placement) == (first, second)
    np.testing.assert_array_equal(back.numpy(), [0, 3, 10])
    np.testing.assert_array_equal(there.numpy(), [1, 3, 5])


def test_checkpointing_in_a_stage_and_zero_in_all(sample):
    sample.take_turns(SLOW, "checkpointing")
    expected, _ = one_device(2, dropout=0.0)
    net = Net(dropout=0.0)
    placements = places([0, 1], [2, 3], [4, 5])
    for stage, place in zip(net.stages, placements, strict=True):
        stage.to_global(place, B)
    net.head.to_global(placements[-1], B)
    graph = Training(net, optimizer_of(net), 2, placements)
    graph.net.stages[1].config.activation_checkpointing = True
    graph.config.enable_zero(stage=2, shard_min_size=4)
    x, y = data()
    x = x.to_global(placements[0], B).to_global(sbp=S(0))
    y = y.to_global(placements[-1], B).to_global(sbp=S(0))
    found = losses_of(graph, x, y)
    np.testing.assert_allclose(found.mean(1), expected.mean(1), rtol=2e-5)


def test_checks_name_the_line_of_their_stage():
    first, second = places([0], [1])

    class Graph(flow.nn.Graph):
        def build(self, x, index):
            y = (x + 1).to_global(second, B)
            return y.index_select(0, index)

    x = flow.arange(3.0).to_global(first, B)
    graph = Graph()
    assert graph(x, flow.tensor([2]).to_global(second, B)).numpy() == 3
    with pytest.raises(IndexError, match=r"test_pipelines\.py"):
        graph(x, flow.tensor([5]).to_global(second, B)).numpy()


def test_schedules_in_words_and_as_a_picture(tmp_path, capsys):
    net = Net(dropout=0.0)
    placements = places([0], [1], [2])
    for stage, place in zip(net.stages, placements, strict=True):
        stage.to_global(place, B)
    net.head.to_global(placements[-1], B)
    graph = Training(net, optimizer_of(net), 4)
    graph.debug(1)
    # The number of a stage is enough: its inputs come to where its parameters are.
    for index, module in enumerate([*graph.net.stages, graph.net.head]):
        module.config.stage_id = min(index, 2)
    with pytest.raises(RuntimeError, match="has not been called"):
        graph.draw_schedule(tmp_path / "early.svg")
    x, y = data()
    x, y = x.to_global(placements[0], B), y.to_global(placements[2], B)
    graph(x, y)
    printed = capsys.readouterr().out
    assert "ranks=[0])) F0 F1 F2 B0 F3 B1 B2 B3; keeps activations of 3 micro" in printed
    assert "ranks=[2])) F0 B0 F1 B1 F2 B2 F3 B3; keeps activations of 1 micro" in printed
    assert "(STAGE:1:" in repr(graph)
    graph.draw_schedule(tmp_path / "assumed.svg")
    assert "assumed durations" in (tmp_path / "assumed.svg").read_text()
    graph(x, y)
    graph.draw_schedule(tmp_path / "pipe.svg")
    drawn = ElementTree.parse(tmp_path / "pipe.svg").getroot()
    boxes = drawn.findall(".//{http://www.w3.org/2000/svg}rect")
    assert sum(box.get("class") == "forward" for box in boxes) == 12
    assert "measured" in (tmp_path / "pipe.svg").read_text()
    graph.draw(tmp_path / "graph.svg")
    with pytest.raises(ValueError, match="svg"):
        graph.draw_schedule(tmp_path / "pipe.png")


def test_one_stage_has_no_schedule(tmp_path):
    class Graph(flow.nn.Graph):
        def build(self, x):
            return x + 1

    graph = Graph()
    graph(flow.ones(2))
    with pytest.raises(RuntimeError, match="one stage"):
        graph.draw_schedule(tmp_path / "pipe.svg")


def test_pipelines_are_not_saved_for_deployment(tmp_path):
    first, second = places([0], [1])

    class Graph(flow.nn.Graph):
        def build(self, x):
            return (x + 1).to_global(second, B)

    graph = Graph()
    graph(flow.ones(2).to_global(first, B))
    with pytest.raises(RuntimeError, match="several placements"):
        graph.save(tmp_path / "saved")


def halves_of(net, before, after):
    """The tensors that hold what they held before a call, and those that hold the new values."""
    now = {name: tensor.numpy() for name, tensor in net.state_dict().items()}
    kept = {name for name in now if np.allclose(now[name], before[name], rtol=1e-3, atol=1e-3)}
    stepped = {name for name in now if np.allclose(now[name], after[name], rtol=1e-3, atol=1e-3)}
    assert kept | stepped == set(now)
    return kept, stepped


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_and_failing_tasks_lose_nothing():
    stages = places([0], [1], [2])
    _, net, graph = pipelined(stages, (B,), 2, dropout=0.0)
    _, twin, reference = pipelined(stages, (B,), 2, dropout=0.0)
    x, y = data()
    x = x.to_global(stages[0], [B])
    y = y.to_global(stages[2], [B])

    def states():
        return {name: tensor.numpy() for name, tensor in net.state_dict().items()}

    for seconds in delays(np.random.default_rng(0), 40, 0.02):
        before = states()
        interrupted = run_interrupted(lambda: graph(x, y), seconds)
        transferred = any((now != before[name]).any() for name, now in states().items())
        assert interrupted or transferred
        if transferred:
            reference(x, y)
        after = {name: tensor.numpy() for name, tensor in twin.state_dict().items()}
        assert len(halves_of(net, after, after)[0]) == len(after)

    runs = pipeline_of(graph).runs
    before = states()
    reference(x, y)
    after = {name: tensor.numpy() for name, tensor in twin.state_dict().items()}

    def fail(*arguments):
        raise flow.OutOfMemoryError("out of memory")

    for broken in (runs[-1], runs[3]):
        run, broken.run = broken.run, fail
        with pytest.raises(flow.OutOfMemoryError):
            graph(x, y)
        broken.run = run
        halves_of(net, before, after)
    assert np.isfinite(graph(x, y)[0].numpy()).all()


def test_placements_that_overlap_share_no_memory():
    both, first = flow.placement("cpu", [0, 1]), flow.placement("cpu", [0])

    class Overlapping(flow.nn.Graph):
        def build(self, x):
            y = x.exp()
            z = y.to_global(placement=first, sbp=flow.sbp.broadcast).square()
            return y + z.to_global(placement=both, sbp=flow.sbp.broadcast)

    graph = Overlapping()
    for number in (0.0, 1.0):
        x = flow.full((3,), number).to_global(both, flow.sbp.broadcast)
        result = graph(x).numpy()
        np.testing.assert_allclose(result, np.exp(number) + np.exp(2 * number), rtol=1e-6)
