"""``torch.distributed.checkpoint`` on this package's checkpoints, beside PyTorch's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
import torch.distributed.checkpoint.format_utils
import torch.distributed.checkpoint.state_dict

import oneflow as flow
from tests.in_place import in_place_of

NAMES = ("torch", "torch.distributed.checkpoint", "torch.distributed.checkpoint.state_dict")


def libraries():
    yield torch, torch.distributed.checkpoint, torch.distributed.checkpoint.state_dict
    yield tuple(in_place_of(name) for name in NAMES)


def trained(library, optimizer="Adam"):
    model = library.nn.Sequential(library.nn.Linear(2, 3), library.nn.Linear(3, 1))
    for number, parameter in enumerate(model.parameters()):
        parameter.data.fill_((number + 1) / 4)
    made = getattr(library.optim, optimizer)(model.parameters(), lr=0.1)
    for _ in range(2):
        made.zero_grad()
        model(library.ones(2, 2)).sum().backward()
        made.step()
    made.zero_grad()
    return model, made


def numbers(value):
    """All numbers in a nesting, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return np.concatenate([numbers(part) for part in value])
    return np.asarray(value.tolist() if hasattr(value, "tolist") else value, float).reshape(-1)


@pytest.fixture(autouse=True)
def one_process():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*assuming the intent is to")
        yield


@pytest.mark.parametrize("optimizer", ["Adam", "SGD"])
def test_training_goes_on_from_a_checkpoint(optimizer, tmp_path):
    outcomes = []
    for library, checkpoint, states in libraries():
        folder = tmp_path / library.__name__
        model, made = trained(library, optimizer)
        names, slots = states.get_state_dict(model, made)
        checkpoint.save({"model": names, "optim": slots, "step": 2}, checkpoint_id=folder)
        fresh = library.nn.Sequential(library.nn.Linear(2, 3), library.nn.Linear(3, 1))
        again = getattr(library.optim, optimizer)(fresh.parameters(), lr=0.5)
        names, slots = states.get_state_dict(fresh, again)
        state = {"model": names, "optim": slots, "step": 0}
        checkpoint.load(state, checkpoint_id=folder)
        states.set_state_dict(
            fresh, again, model_state_dict=state["model"], optim_state_dict=state["optim"]
        )
        fresh(library.ones(2, 2)).sum().backward()
        again.step()
        outcomes.append(numbers([state["step"], dict(fresh.state_dict())]))
        assert again.param_groups[0]["lr"] == pytest.approx(0.1)
    np.testing.assert_allclose(outcomes[1], outcomes[0], rtol=1e-5)


@pytest.mark.parametrize("flat", [False, True])
def test_states_are_named_by_parameters(flat):
    outcomes = []
    for library, _, states in libraries():
        options = states.StateDictOptions(flatten_optimizer_state_dict=flat)
        model, made = trained(library)
        made.param_groups[0]["lr"] = 0.25
        saved = states.get_optimizer_state_dict(model, made, options=options)
        fresh, again = trained(library)
        states.set_optimizer_state_dict(fresh, again, saved, options=options)
        assert again.param_groups[0]["lr"] == 0.25
        keys = saved if flat else saved["state"]
        outcomes.append([key for key in keys if not key.startswith("param_groups")])
    assert outcomes[1] == outcomes[0]


def test_what_is_asked_for_is_loaded(tmp_path):
    outcomes = []
    for library, checkpoint, _ in libraries():
        writer = checkpoint.FileSystemWriter(tmp_path / library.__name__)
        saved = {"a": {"b": library.ones(2)}, "n": 3, "l": [library.ones(1), 2]}
        checkpoint.async_save(saved, storage_writer=writer).result()
        reader = checkpoint.FileSystemReader(tmp_path / library.__name__)
        target = library.zeros(2)
        state = {"a": {"b": target}, "l": [library.zeros(1), 0]}
        checkpoint.load(state, storage_reader=reader)
        assert state["a"]["b"] is target
        errors = []
        for wrong in ({"c": library.zeros(2)}, {"a": {"b": library.zeros(3)}}):
            with pytest.raises(checkpoint.CheckpointException) as caught:
                checkpoint.load(wrong, storage_reader=reader)
            errors.append(type(caught.value.failures[0]).__name__)
        partial = {"c": library.zeros(2), "n": 0}
        planner = checkpoint.DefaultLoadPlanner(allow_partial_load=True)
        checkpoint.load(partial, storage_reader=reader, planner=planner)
        outcomes.append(numbers([state, partial]))
    np.testing.assert_array_equal(outcomes[1], outcomes[0])


def test_a_load_that_fails_writes_nothing(tmp_path):
    for library, checkpoint, _ in libraries():
        folder = tmp_path / library.__name__
        saved = {"a": library.ones(2), "b": {"n": 1, "w": library.ones(2)}, "l": [library.ones(2)]}
        checkpoint.save(saved, checkpoint_id=folder)
        for key, wrong in (("c", library.zeros(2)), ("l", [library.zeros(3)])):
            inner = {"n": 0, "w": library.zeros(2)}
            state = {"a": library.zeros(2), "b": inner, key: wrong}
            with pytest.raises(checkpoint.CheckpointException):
                checkpoint.load(state, checkpoint_id=folder)
            assert not numbers([state["a"], inner]).any()


def own_submodule(library):
    class Wrapping(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.bias = library.nn.Parameter(library.zeros(2))
            self.module = library.nn.Linear(2, 2)

    return Wrapping()


@pytest.mark.parametrize(
    "make", [own_submodule, lambda library: library.nn.DataParallel(library.nn.Linear(2, 2))]
)
def test_names_of_submodules_stay(make):
    outcomes = []
    for library, _, states in libraries():
        model = make(library)
        for number, parameter in enumerate(model.parameters()):
            parameter.data.fill_(number)
            parameter.grad = library.ones_like(parameter) * number
        made = library.optim.SGD(model.parameters(), lr=0.0, momentum=0.5)
        made.step()
        names, slots = states.get_state_dict(model, made)
        fresh = make(library)
        again = library.optim.SGD(fresh.parameters(), lr=0.0, momentum=0.5)
        states.set_state_dict(fresh, again, model_state_dict=names, optim_state_dict=slots)
        buffers = [state["momentum_buffer"] for state in again.state.values()]
        loaded = numbers([dict(fresh.state_dict()), *buffers])
        outcomes.append((list(names), sorted(slots["state"]), loaded.tolist()))
    assert outcomes[1] == outcomes[0]


def test_names_of_wrappers_go():
    mock, _, states = tuple(in_place_of(name) for name in NAMES)
    inner = own_submodule(mock)
    wrapped = mock.nn.parallel.DistributedDataParallel(inner)
    model = mock.nn.Sequential(wrapped)
    made = mock.optim.Adam(model.parameters())
    names, slots = states.get_state_dict(model, made)
    expected = [f"0.{name}" for name in inner.state_dict()]
    assert list(names) == expected == list(slots["state"])
    assert list(states.get_model_state_dict(wrapped)) == list(inner.state_dict())
    missing = states.set_model_state_dict(model, names)
    assert not missing.missing_keys
    assert not missing.unexpected_keys


def test_an_optimizer_before_its_first_step_keeps_gradients():
    outcomes = []
    for library, _, states in libraries():
        model = library.nn.Linear(2, 1)
        made = library.optim.Adam(model.parameters())
        model(library.ones(2, 2)).sum().backward()
        state = states.get_optimizer_state_dict(model, made)
        outcomes.append((state["state"], list(state), model.weight.grad.tolist()))
    assert outcomes[1] == outcomes[0]


def test_a_checkpoint_becomes_a_file_and_one_again(tmp_path):
    checkpoint = in_place_of("torch.distributed.checkpoint")
    formats = in_place_of("torch.distributed.checkpoint.format_utils")
    checkpoint.save({"a": flow.ones(2)}, checkpoint_id=tmp_path / "folder")
    formats.dcp_to_torch_save(tmp_path / "folder", tmp_path / "file")
    formats.torch_save_to_dcp(tmp_path / "file", tmp_path / "other")
    state = {"a": flow.zeros(2)}
    checkpoint.load(state, checkpoint_id=tmp_path / "other")
    assert state["a"].tolist() == [1, 1]


def test_what_is_not_there_says_what_is(tmp_path):
    checkpoint, states = map(in_place_of, NAMES[1:])
    with pytest.raises(RuntimeError, match="`checkpoint_id`"):
        checkpoint.save({})
    with pytest.raises(NotImplementedError, match="`FileSystemWriter`"):
        checkpoint.save({}, storage_writer=object())
    options = states.StateDictOptions(broadcast_from_rank0=True)
    with pytest.raises(NotImplementedError, match="broadcast_from_rank0"):
        states.get_model_state_dict(flow.nn.Linear(1, 1), options=options)
    writer = checkpoint.FileSystemWriter(tmp_path, overwrite=False)
    checkpoint.save({"n": 1}, storage_writer=writer)
    with pytest.raises(RuntimeError, match="`overwrite`"):
        checkpoint.save({"n": 1}, storage_writer=writer)


def test_global_tensors_are_read_into_any_layout(tmp_path):
    checkpoint, states = map(in_place_of, NAMES[1:])
    cpu = flow.placement("cpu", ranks=[0])
    saved = flow.arange(4.0).to_global(cpu, flow.sbp.split(0))
    checkpoint.save({"w": saved}, checkpoint_id=tmp_path)
    for target in (flow.zeros(4), flow.zeros(4).to_global(cpu, flow.sbp.broadcast)):
        checkpoint.load({"w": target}, checkpoint_id=tmp_path)
        assert target.numpy().tolist() == [0, 1, 2, 3]
    model = flow.nn.Linear(2, 1).to_global(cpu, flow.sbp.broadcast)
    options = states.StateDictOptions(full_state_dict=True)
    whole = states.get_model_state_dict(model, options=options)
    assert [tensor.is_local for tensor in whole.values()] == [True, True]
