"""Names of `torch.distributed` for processes that meet, their groups and libraries."""

from __future__ import annotations

import importlib
import os
import pdb
import types

import pytest
import torch
import torch.distributed
import torch.distributed.rendezvous

from tests.distributed.launching import free_port
from tests.in_place import in_place_of

OURS = in_place_of("torch.distributed")
LIBRARIES = (OURS, torch.distributed)


@pytest.mark.filterwarnings("ignore")
def test_public_names_exist():
    theirs = importlib.import_module("torch.distributed")
    names = [
        name
        for name, value in vars(theirs).items()
        if not (name.startswith("_") or isinstance(value, types.ModuleType))
        and getattr(value, "__module__", "").startswith("torch")
    ]
    assert [name for name in names if not hasattr(OURS, name)] == []


@pytest.mark.parametrize(
    "operation",
    [
        *("AllToAll", "AllreduceCoalesced", "Allreduce", "Barrier", "Broadcast", "Gather"),
        *("Reduce", "ReduceScatter", "Scatter"),
    ],
)
def test_options_have_pytorchs_values(operation):
    ours, theirs = (getattr(library, f"{operation}Options")() for library in LIBRARIES)
    names = [name for name in dir(theirs) if not name.startswith("_")]
    assert sorted(vars(ours)) == names
    for name in names:
        if name == "reduceOp":
            assert ours.reduceOp == OURS.ReduceOp.SUM
        else:
            assert getattr(ours, name) == getattr(theirs, name)


def outcome(function, library):
    try:
        return function(library)
    except Exception as error:
        return type(error).__name__


def configured(backend):
    def describe(library):
        config = library.BackendConfig(library.Backend(backend))
        return str(config), config.get_device_backend_map()

    return describe


BACKENDS = ("gloo", "nccl", "mpi", "cpu:gloo,cuda:nccl", "CPU:GLOO", "cpu:gloo,cpu:mpi", "a:b:c")


@pytest.mark.parametrize("backend", BACKENDS)
def test_libraries_by_device_are_pytorchs(backend):
    ours, theirs = (outcome(configured(backend), library) for library in LIBRARIES)
    assert ours == theirs


def meeting(url, *numbers, **options):
    def meet(library):
        address = url.format(port=free_port(), file=os.devnull)
        store, rank, count = next(library.rendezvous(address, *numbers, **options))
        store.set("key", "value")
        return type(store).__name__.replace("PrefixStore", "TCPStore"), rank, count

    return meet


MEETINGS = {
    "a port": meeting("tcp://localhost:{port}?rank=0&world_size=1"),
    "a port and numbers": meeting("tcp://localhost:{port}", 0, 1),
    "numbers twice": meeting("tcp://localhost:{port}?rank=0", 0, 1),
    "no rank": meeting("tcp://localhost:{port}?world_size=1"),
    "no number of processes": meeting("tcp://localhost:{port}?rank=0"),
    "no port": meeting("tcp://localhost?rank=0&world_size=1"),
    "no path": meeting("file://?rank=0&world_size=1"),
    "no rank for a file": meeting("file:///none?world_size=1"),
    "variables": meeting("env://"),
    "variables but for numbers": meeting("env://?rank=0&world_size=1"),
    "an unknown scheme": meeting("unknown://"),
    "no address": lambda library: library.rendezvous(3),
    "a rank of text": lambda library: library.rendezvous("env://", "0"),
    "a number of text": lambda library: library.rendezvous("env://", 0, "1"),
    "a handler twice": lambda library: library.register_rendezvous_handler("tcp", None),
}


@pytest.mark.parametrize("has_variables", [False, True])
@pytest.mark.parametrize("name", MEETINGS)
def test_processes_meet_as_pytorchs(monkeypatch, name, has_variables):
    results = []
    for library in LIBRARIES:
        for variable in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
            monkeypatch.delenv(variable, raising=False)
        if has_variables:
            monkeypatch.setenv("RANK", "0")
            monkeypatch.setenv("WORLD_SIZE", "1")
            monkeypatch.setenv("MASTER_ADDR", "localhost")
            monkeypatch.setenv("MASTER_PORT", str(free_port()))
        results.append(outcome(MEETINGS[name], library))
    assert results[0] == results[1]


def test_a_file_is_a_place_to_meet(tmp_path):
    for number, library in enumerate(LIBRARIES):
        url = f"file://{tmp_path / str(number)}?rank=0&world_size=1"
        places = library.rendezvous(url)
        store, rank, count = next(places)
        store.set("key", "value")
        assert (store.get("key"), rank, count) == (b"value", 0, 1)
        with pytest.raises(RuntimeError):
            next(places)


def test_own_schemes():
    def handler(url, **options):
        yield url, 5, options["more"]

    for library in LIBRARIES:
        library.register_rendezvous_handler("own", handler)
        url, rank, more = next(library.rendezvous("own://place?a=1", 2, 3, more="it"))
        assert (url, rank, more) == ("own://place?a=1&rank=2&world_size=3", 5, "it")


def test_errors_and_types():
    assert OURS.QueueEmptyError.__mro__[1].__name__ == "DistStoreError"
    for kind in (OURS.ProcessGroupGloo, OURS.Reducer, OURS.Logger):
        with pytest.raises(NotImplementedError, match=r"`\w+`|oneflow"):
            kind()
    assert OURS.GroupName("0") == torch.distributed.GroupName("0")


def test_ranges_of_collectives():
    torch_here = in_place_of("torch")
    with torch_here.profiler.profile() as profile, OURS.record_comm("sum of losses"):
        OURS.all_reduce(torch_here.ones(2))
    assert "sum of losses" in [event.key for event in profile.key_averages()]


def test_breakpoints_stop_after_those_to_skip(monkeypatch):
    stops = []
    monkeypatch.setattr(pdb.Pdb, "set_trace", lambda self, frame: stops.append(frame.f_lineno))
    for _ in range(3):
        OURS.breakpoint(skip=1)
    OURS.breakpoint(rank=1)
    assert len(stops) == 2
    assert stops[0] == stops[1]


REFUSED = {
    "no parts": (ValueError, lambda: OURS.split_group(split_ranks=[])),
    "an empty part": (ValueError, lambda: OURS.split_group(split_ranks=[[0], []])),
    "an index twice": (ValueError, lambda: OURS.split_group(split_ranks=[[0, 0]])),
    "an index beyond": (ValueError, lambda: OURS.split_group(split_ranks=[[0, 1]])),
    "not in the group": (
        ValueError,
        lambda: OURS.split_group(OURS.GroupMember.NON_GROUP_MEMBER, [[0]]),
    ),
    "all processes": (NotImplementedError, lambda: OURS.shrink_group([0])),
    "no list": (TypeError, lambda: OURS.shrink_group((0,))),
    "unknown flags": (ValueError, lambda: OURS.shrink_group([0], shrink_flags=2)),
    "a group without this process": (
        ValueError,
        lambda: OURS.get_backend_config(OURS.GroupMember.NON_GROUP_MEMBER),
    ),
    "none left out": (ValueError, lambda: OURS.shrink_group([], OURS.new_group([0]))),
    "none left": (ValueError, lambda: OURS.shrink_group([0], OURS.new_group([0]))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_groups_are_refused(name):
    kind, call = REFUSED[name]
    with pytest.raises(kind):
        call()
