"""Saving and loading global tensors: each rank its parts, under any placement, whatever happens."""

import copy
import io
import json
import pickle

import numpy as np
import pytest
import safetensors.numpy

import oneflow as flow
from oneflow import nn
from oneflow.checkpoint import sharded, tensor_file
from tests.checkpoint.exact_training import Training, assert_same_bits

S, B, P = flow.sbp.split, flow.sbp.broadcast, flow.sbp.partial_sum
PAIR = flow.placement("cpu", [0, 1])
LINE = flow.placement("cpu", [6, 2, 4])
GRID = flow.placement("cpu", [[0, 1], [2, 3]])
LAYOUTS = [(PAIR, S(1)), (LINE, S(0)), (LINE, P), (GRID, (S(0), S(1))), (GRID, (S(0), S(0)))]
NUMBERS = np.arange(35, dtype=np.float32).reshape(7, 5)


def some_tensors():
    tensors = {
        str(sbp) + str(placement.ranks): flow.tensor(NUMBERS, placement=placement, sbp=sbp)
        for placement, sbp in LAYOUTS
    }
    return {
        **tensors,
        "scalar": flow.tensor(3.0, placement=PAIR, sbp=B),
        "short": flow.tensor([1, 2], placement=GRID, sbp=(S(0), S(0))),
        "empty": flow.ones(0, 4, placement=PAIR, sbp=S(1)),
        "complex": flow.tensor(NUMBERS, placement=LINE, sbp=S(0), dtype=flow.complex128),
        "half": flow.tensor(NUMBERS, placement=LINE, sbp=S(1), dtype=flow.bfloat16),
    }


def assert_same_numbers(one, other):
    assert one.dtype is other.dtype
    assert one.shape == other.shape
    assert one.numpy().tobytes() == other.numpy().tobytes()


def only_parts(folder):
    return next(path for path in folder.iterdir() if path.name.startswith("parts-"))


# --- the same numbers, wherever they go


def test_every_layout_comes_back(tmp_path):
    tensors = some_tensors()
    flow.save(tensors, tmp_path / "checkpoint")
    loaded = flow.load(tmp_path / "checkpoint")
    for name, tensor in tensors.items():
        assert loaded[name].placement is tensor.placement
        assert loaded[name].sbp == tensor.sbp
        assert_same_numbers(loaded[name], tensor)


def test_every_layout_becomes_any_other(tmp_path):
    tensors = some_tensors()
    flow.save(tensors, tmp_path / "checkpoint")
    for placement, sbp in LAYOUTS:
        loaded = flow.load(tmp_path / "checkpoint", map_location=(placement, sbp))
        for name, tensor in tensors.items():
            assert loaded[name].placement is placement
            assert_same_numbers(loaded[name], tensor)
    assert loaded["scalar"].sbp == (B, B)  # it has no dimension to split


def test_map_location(tmp_path):
    file = tmp_path / "checkpoint"
    flow.save({"x": flow.tensor(NUMBERS, placement=PAIR, sbp=S(0)), "local": flow.ones(2)}, file)

    def place(location):
        x = flow.load(file, map_location=location)["x"]
        np.testing.assert_array_equal(x.numpy(), NUMBERS)
        return (x.placement, x.sbp) if x.is_global else x.device

    assert place("cpu") is flow.device("cpu")
    assert place(LINE) == (LINE, (B,))
    assert place({PAIR: (LINE, S(-1))}) == (LINE, (S(1),))
    assert place({LINE: "cpu"}) == (PAIR, (S(0),))
    assert place(lambda saved: GRID if saved is PAIR else saved) == (GRID, (B, B))
    assert flow.load(file, map_location=LINE)["local"].sbp == (B,)
    with pytest.raises(ValueError, match="one per dimension"):
        flow.load(file, map_location=(GRID, S(0)))


def test_a_loaded_tensor_goes_where_it_is_sent_without_being_read_first(tmp_path):
    flow.save([flow.tensor(NUMBERS, placement=PAIR, sbp=S(0))], tmp_path / "checkpoint")
    (x,) = flow.load(tmp_path / "checkpoint")
    for moved in (x.to_global(LINE, S(0)), x.to_global(sbp=S(1)), x.clone(), x.detach() + 0):
        np.testing.assert_array_equal(moved.numpy(), NUMBERS)


def test_tied_tensors_parameters_and_plain_data(tmp_path):
    weight = nn.Parameter(flow.tensor(NUMBERS, placement=PAIR, sbp=S(0)))
    obj = {"a": weight, "b": weight, "count": 3, "array": np.arange(3), "local": flow.ones(2)}
    flow.save(obj, tmp_path / "checkpoint")
    loaded = flow.load(tmp_path / "checkpoint")
    assert loaded["a"] is loaded["b"]
    assert isinstance(loaded["a"], nn.Parameter)
    assert loaded["a"].requires_grad
    assert loaded["count"] == 3
    assert loaded["array"].tolist() == [0, 1, 2]
    assert loaded["local"].is_local


# --- files


def test_parts_are_stored_once_and_by_all_ranks(tmp_path):
    x = flow.ones(64, 64, placement=GRID, sbp=(B, S(0)))
    flow.save({"x": x, "y": x + 1}, tmp_path / "checkpoint")
    files = sorted(only_parts(tmp_path / "checkpoint").iterdir())
    assert [file.name for file in files] == [f"rank{rank}-0.safetensors" for rank in range(4)]
    for file in files:
        (array,) = safetensors.numpy.load_file(file).values()
        assert array.shape == (32, 64)


def test_large_parts_take_several_files(tmp_path, monkeypatch):
    monkeypatch.setattr("oneflow.checkpoint.shard_assignment._FILE_BYTES", 64)
    tensors = some_tensors()
    flow.save(tensors, tmp_path / "checkpoint")
    assert len(list(only_parts(tmp_path / "checkpoint").iterdir())) > 8
    for name, tensor in flow.load(tmp_path / "checkpoint").items():
        assert_same_numbers(tensor, tensors[name])


def test_only_the_parts_that_are_needed_are_read(tmp_path, monkeypatch):
    flow.save([flow.ones(64, 64, placement=GRID, sbp=(S(0), S(1)))], tmp_path / "checkpoint")
    read = []
    part = tensor_file.TensorFile.part

    def counting(self, name, slices):
        array = part(self, name, slices)
        read.append(array.size)
        return array

    monkeypatch.setattr(tensor_file.TensorFile, "part", counting)
    (x,) = flow.load(tmp_path / "checkpoint")
    assert not read
    model = nn.Linear(64, 64, bias=False).to_global(LINE, B)
    model.weight.data = model.weight.data.to_global(sbp=S(0))
    model.load_state_dict({"weight": x})
    assert model.weight.sbp == (S(0),)
    assert sum(read) == 64 * 64
    assert max(read) < 32 * 32
    read.clear()
    nn.Linear(64, 64, bias=False).to_global(LINE, B).load_state_dict({"weight": x})
    assert sum(read) == 64 * 64  # once for three ranks


# --- files of whole tensors


def test_whole_tensors_in_a_file(tmp_path):
    tensors = some_tensors()
    flow.save(tensors, tmp_path / "file", global_dst_rank=1)
    assert (tmp_path / "file").is_file()
    local = flow.load(tmp_path / "file")
    spread = flow.load(tmp_path / "file", map_location=(LINE, S(0)))
    for name, tensor in tensors.items():
        assert local[name].is_local
        assert_same_numbers(local[name], tensor)
        assert spread[name].placement is LINE
        assert_same_numbers(spread[name], tensor)
    content = io.BytesIO()
    flow.save(tensors["scalar"], content, global_dst_rank=0)
    content.seek(0)
    assert flow.load(content).item() == 3


@pytest.mark.parametrize("whole", [True, False])
def test_one_rank_reads_for_all(tmp_path, whole):
    x = flow.tensor(NUMBERS, placement=PAIR, sbp=S(0))
    obj = {"x": x, "local": flow.ones(2), "array": np.arange(3), "n": 1}
    flow.save(obj, tmp_path / "saved", global_dst_rank=0 if whole else None)
    loaded = flow.load(tmp_path / "saved", global_src_rank=3)
    assert loaded["x"].placement is flow.placement("cpu", [3])
    assert loaded["local"].sbp == (B,)
    np.testing.assert_array_equal(loaded["x"].numpy(), NUMBERS)
    assert loaded["array"].tolist() == [0, 1, 2]
    assert loaded["n"] == 1
    spread = flow.load(tmp_path / "saved", 3, (GRID, (S(0), S(1))))["x"]
    assert spread.sbp == (S(0), S(1))
    np.testing.assert_array_equal(spread.numpy(), NUMBERS)
    with pytest.raises(ValueError, match="global_src_rank"):
        flow.load(tmp_path / "saved", 3, {"cpu": "cpu"})
    with pytest.raises(FileNotFoundError):
        flow.load(tmp_path / "nothing", 3)


def test_whole_and_global_state_dicts_fit_each_other(tmp_path):
    local, spread = nn.Linear(5, 7), nn.Linear(5, 7).to_global(GRID, (B, B))
    spread.weight.data = spread.weight.data.to_global(sbp=(S(1), S(0)))
    flow.save(local.state_dict(), tmp_path / "local")
    spread.load_state_dict(flow.load(tmp_path / "local"))
    assert spread.weight.sbp == (S(1), S(0))
    np.testing.assert_array_equal(spread.weight.numpy(), local.weight.numpy())
    for state in (spread.state_dict(), saved_and_loaded(spread.state_dict(), tmp_path)):
        twin = nn.Linear(5, 7)
        twin.load_state_dict(state)
        assert twin.weight.is_local
        np.testing.assert_array_equal(twin.weight.numpy(), local.weight.numpy())


def saved_and_loaded(obj, folder):
    flow.save(obj, folder / "saved")
    return flow.load(folder / "saved")


# --- going on


OTHER_LAYOUTS = [(LINE, (B,)), (GRID, (S(0), B)), (None, None)]


@pytest.mark.parametrize(("placement", "sbp"), OTHER_LAYOUTS)
def test_training_goes_on_under_another_layout_to_the_last_bit(tmp_path, placement, sbp, sample):
    sample.take_turns(OTHER_LAYOUTS, (placement, sbp))
    whole = Training().step().step()
    first = Training(PAIR, S(0)).step()
    flow.save(first.state_dict(), tmp_path / "checkpoint")
    second = Training(placement, sbp)
    second.load_state_dict(flow.load(tmp_path / "checkpoint"))
    states = [state["momentum_buffer"] for state in second.optimizer.state.values()]
    if placement is not None:
        assert {(state.placement, state.sbp) for state in states} == {(placement, sbp)}
    assert_same_bits(second.step(), whole)


@pytest.mark.parametrize("stage", [0, 1, 3])
def test_graphs(tmp_path, stage):
    class Step(nn.Graph):
        def __init__(self, training):
            super().__init__()
            self.config.enable_zero(stage > 0, stage=max(stage, 1), shard_min_size=1)
            self.model = training.model
            self.add_optimizer(training.optimizer)

        def build(self, inputs, targets):
            loss = ((self.model(inputs) - targets) ** 2).sum()
            loss.backward()
            return loss

    whole = Training().step().step()
    first = Training(PAIR, B)
    graph = Step(first)
    graph(first.inputs, first.targets)
    assert sbp_of_momenta(first) == ({(S(0),), (S(1),)} if stage else {(B,)})
    flow.save(graph.state_dict(), tmp_path / "checkpoint")
    second = Training(LINE, B)
    graph = Step(second)
    graph.load_state_dict(flow.load(tmp_path / "checkpoint"))
    graph(second.inputs, second.targets)
    assert (sbp_of_momenta(second) == {(B,)}) == (stage == 0)
    assert_same_bits(second, whole)


def sbp_of_momenta(training):
    return {state["momentum_buffer"].sbp for state in training.optimizer.state.values()}


def test_copies_and_pickles():
    for tensor in some_tensors().values():
        for twin in (copy.deepcopy(tensor), pickle.loads(pickle.dumps(tensor))):
            assert twin.placement is tensor.placement
            assert twin.sbp == tensor.sbp
            assert_same_numbers(twin, tensor)
    layer = nn.Linear(5, 3).to_global(LINE, S(0))
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert isinstance(twin.weight, nn.Parameter)
        assert twin.weight.requires_grad
        assert twin.weight.sbp == (S(0),)
        assert_same_numbers(twin.weight, layer.weight)


# --- what goes wrong


class Stop(Exception):
    pass


@pytest.mark.parametrize("step", ["write", "atomic_write"])
@pytest.mark.parametrize("killed", [False, True])
def test_a_save_that_stops_leaves_the_one_before(tmp_path, monkeypatch, step, killed):
    folder = tmp_path / "checkpoint"
    flow.save([flow.zeros(4, placement=PAIR, sbp=S(0))], folder)
    calls = []

    def fail(target, *rest):
        calls.append(target)
        if len(calls) == (2 if step == "write" else 1):
            raise Stop
        return write(target, *rest)

    write = tensor_file.write
    owner = tensor_file if step == "write" else "oneflow.checkpoint.manifest"
    if isinstance(owner, str):
        monkeypatch.setattr(f"{owner}.{step}", fail)
    else:
        monkeypatch.setattr(owner, step, fail)
    if killed:
        monkeypatch.setattr(sharded, "remove_old_versions", lambda *_: None)
    with pytest.raises(Stop):
        flow.save([flow.ones(4, placement=PAIR, sbp=S(0))], folder)
    assert len(list(folder.iterdir())) == (3 if killed else 2)
    assert flow.load(folder)[0].tolist() == [0, 0, 0, 0]
    monkeypatch.undo()
    flow.save([flow.ones(4, placement=PAIR, sbp=S(0))], folder)
    assert len(list(folder.iterdir())) == 2
    assert flow.load(folder)[0].tolist() == [1, 1, 1, 1]


def test_a_first_save_that_stops(tmp_path, monkeypatch):
    monkeypatch.setattr(sharded, "remove_old_versions", lambda *_: None)
    monkeypatch.setattr("oneflow.checkpoint.manifest.atomic_write", lambda target: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        flow.save([flow.ones(4, placement=PAIR, sbp=S(0))], tmp_path / "checkpoint")
    with pytest.raises(RuntimeError, match="never completed"):
        flow.load(tmp_path / "checkpoint")


@pytest.mark.parametrize("kept", [(), (".parts-0123456789abcdef.lock",)])
def test_a_first_save_that_is_killed_at_once(tmp_path, kept):
    for name in kept:
        (tmp_path / name).touch()
    with pytest.raises(RuntimeError, match="never completed"):
        flow.load(tmp_path)


def test_damage(tmp_path):
    folder = tmp_path / "checkpoint"
    flow.save({"x": flow.tensor(NUMBERS, placement=PAIR, sbp=S(0))}, folder)
    text = (folder / "checkpoint.json").read_text()
    content = json.loads(text)

    def fails(match, **changes):
        (folder / "checkpoint.json").write_text(json.dumps({**content, **changes}))
        with pytest.raises(RuntimeError, match=match):
            flow.load(folder)["x"].numpy()

    fails("newer OneFlow", version=2)
    fails("newer OneFlow", version=2, tensors="other")
    fails("damaged", format="something")
    fails("damaged", folder="../elsewhere")
    fails("damaged", tensors={})
    fails("should have 1 bytes", files=dict.fromkeys(content["files"], 1))
    shorter = {**content["tensors"]["x"], "parts": content["tensors"]["x"]["parts"][:1]}
    fails("parts of `x` do not cover", tensors={"x": shorter})
    fails("not what", tensors={"x": {**content["tensors"]["x"], "dtype": "int32"}})
    (folder / "checkpoint.json").write_text(text[:50])
    with pytest.raises(RuntimeError, match="damaged"):
        flow.load(folder)
    (folder / "checkpoint.json").write_text(text)
    (only_parts(folder) / "rank1-0.safetensors").unlink()
    with pytest.raises(RuntimeError, match=r"rank1-0.safetensors` is missing"):
        flow.load(folder)


def test_a_folder_that_changes_after_it_was_opened(tmp_path):
    flow.save([flow.zeros(4, placement=PAIR, sbp=S(0))], tmp_path / "checkpoint")
    (x,) = flow.load(tmp_path / "checkpoint")
    flow.save([flow.ones(4, placement=PAIR, sbp=S(0))], tmp_path / "checkpoint")
    with pytest.raises(RuntimeError, match="saved again"):
        x.numpy()
    # Nothing is left of an operation whose operand cannot be read.
    y = flow.ones(4, placement=PAIR, sbp=S(0))
    doubled = y * 2
    for deed in (lambda: flow.lerp(y * 3, x, 0.5), lambda: flow.cat([y, x]), lambda: x + y):
        with pytest.raises(RuntimeError, match="saved again"):
            deed()
    assert (doubled + y).tolist() == [3, 3, 3, 3]


def saved_elsewhere(content, folder):
    """The same as loaded after it was saved on ranks that do not exist here."""
    flow.save(content, folder)
    text = (folder / "checkpoint.json").read_text()
    (folder / "checkpoint.json").write_text(text.replace('["cpu", [0, 1]]', '["cpu", [8, 9]]'))
    return flow.load(folder)


def test_placements_that_do_not_exist_here(tmp_path):
    (x,) = saved_elsewhere([flow.zeros(4, placement=PAIR, sbp=S(0))], tmp_path / "checkpoint")
    assert x.shape == (4,)
    for deed in (lambda: x + 1, x.to_local, lambda: x.to_global(sbp=B).to_local()):
        with pytest.raises(RuntimeError, match=r"rank 9 does not exist.*map_location"):
            deed()
    assert x.tolist() == [0, 0, 0, 0]
    assert "[0., 0., 0., 0.]" in repr(x)
    assert x.to_global(LINE, S(0)).tolist() == [0, 0, 0, 0]
    assert flow.load(tmp_path / "checkpoint", map_location="cpu")[0].tolist() == [0, 0, 0, 0]


class ScaledTraining(nn.Graph):
    def __init__(self, place=None):
        super().__init__()
        flow.manual_seed(0)
        self.model = nn.Linear(4, 4)
        self.x = flow.arange(8.0).view(2, 4)
        if place is not None:
            self.model.to_global(place, B)
            self.x = self.x.to_global(place, B)
        self.optimizer = flow.optim.Adam(self.model.parameters(), lr=0.1)
        self.add_optimizer(self.optimizer)
        self.set_grad_scaler(flow.amp.GradScaler(init_scale=64.0))

    def build(self):
        loss = self.model(self.x).square().mean()
        loss.backward()
        return loss


@pytest.mark.parametrize("place", [None, LINE, flow.placement("cpu", [0])])
@pytest.mark.parametrize("holder", ["optimizer", "graph"])
def test_training_goes_on_with_fewer_devices(tmp_path, place, holder):
    here, there = ScaledTraining(place), ScaledTraining(PAIR)
    expected = [there().numpy() for _ in range(4)][2:]
    there = ScaledTraining(PAIR)
    for _ in range(2):
        there()
    saved = there.optimizer if holder == "optimizer" else there
    content = [there.model.state_dict(), saved.state_dict()]
    weights, state = saved_elsewhere(content, tmp_path / "checkpoint")
    here.model.load_state_dict(weights)
    (here.optimizer if holder == "optimizer" else here).load_state_dict(state)
    np.testing.assert_allclose([here().numpy() for _ in range(2)], expected, rtol=1e-5)


def test_shapes_that_differ(tmp_path):
    state = saved_and_loaded(nn.Linear(5, 3).to_global(PAIR, S(0)).state_dict(), tmp_path)
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        nn.Linear(4, 3).to_global(LINE, B).load_state_dict(state)


def test_where_a_folder_cannot_be(tmp_path):
    x = flow.ones(4, placement=PAIR, sbp=S(0))
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError, match="global_dst_rank"):
        flow.save(x, tmp_path / "file")
    flow.save(x, tmp_path / "new" / "folders" / "checkpoint")
    assert flow.load(tmp_path / "new" / "folders" / "checkpoint").numpy().tolist() == [1.0] * 4
    with pytest.raises(TypeError, match="global_dst_rank"):
        flow.save(x, io.BytesIO())
