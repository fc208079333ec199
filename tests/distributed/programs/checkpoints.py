"""Checkpoints of two or more processes; the first argument says what they do with a folder."""

import os
import signal
import sys
from pathlib import Path

import numpy as np
from tests.checkpoint.exact_training import Training, assert_equal

import oneflow as flow
from oneflow import nn
from oneflow.checkpoint import tensor_file
from oneflow.control_plane.flight_recorder import progress_by_group

rank, size = flow.env.get_rank(), flow.env.get_world_size()
S, B = flow.sbp.split, flow.sbp.broadcast
ALL = flow.placement.all("cpu")
NUMBERS = np.arange(35, dtype=np.float32).reshape(7, 5)
write = tensor_file.write


def raised(kind, deed):
    try:
        deed()
    except kind as error:
        return str(error)
    raise AssertionError(f"{kind} expected")


def fail_writing(target, *rest):
    raise OSError("the disk is full")


def end_while_writing(target, arrays, metadata):
    write(target.with_name(f".{target.name}.partial"), arrays, metadata)
    os.kill(os.getpid(), signal.SIGKILL)


def check_parts(folder):
    x = flow.tensor(NUMBERS, placement=ALL, sbp=S(0))
    flow.save({"x": x, "rank": rank, "local": flow.tensor([rank])}, folder / "parts")
    files = sorted(path.name for path in (folder / "parts").glob("parts-*/*"))
    assert files == [f"rank{index}-0.safetensors" for index in range(size)]
    loaded = flow.load(folder / "parts")
    assert loaded["rank"] == 0
    assert loaded["local"].tolist() == [0]
    np.testing.assert_array_equal(loaded["x"].to_global(sbp=S(1)).numpy(), NUMBERS)
    if rank == size - 1:
        # One rank may load on its own.
        whole = flow.load(folder / "parts", map_location="cpu")["x"]
        np.testing.assert_array_equal(whole.numpy(), NUMBERS)


def check_one_rank_for_all(folder):
    x = flow.tensor(NUMBERS, placement=flow.placement("cpu", [0]), sbp=B)
    own = folder / str(rank)
    own.mkdir()
    flow.save({"x": x, "rank": rank}, own / "file", global_dst_rank=1)
    assert (own / "file").exists() == (rank == 1)
    loaded = flow.load(own / "file", global_src_rank=1, map_location=(ALL, S(0)))
    assert loaded["rank"] == 1
    assert loaded["x"].sbp == (S(0),)
    np.testing.assert_array_equal(loaded["x"].numpy(), NUMBERS)
    alone = flow.load(own / "file", global_src_rank=1)["x"]
    assert alone.placement is flow.placement("cpu", [1])
    assert alone.to_local().shape == ((7, 5) if rank == 1 else (0, 0))
    kind = FileNotFoundError if rank == 0 else RuntimeError
    message = raised(kind, lambda: flow.load(own / "file", global_src_rank=0))
    assert "there is no such file" in message
    assert rank == 0 or "rank 0 could not load for all" in message


def check_a_folder_that_exists(folder):
    existing = folder / "existing"
    existing.mkdir(exist_ok=True)
    flow.comm.barrier()
    before = sum(count for count, _ in progress_by_group().values())
    if rank == 1:
        flow.save({"step": 3, "w": flow.ones(2)}, existing)
        assert flow.load(existing)["w"].tolist() == [1, 1]
    assert sum(count for count, _ in progress_by_group().values()) == before
    x = flow.tensor(NUMBERS, placement=ALL, sbp=S(0))
    flow.save({"w": x}, existing, global_dst_rank=1)
    whole = flow.load(existing)["w"]
    assert whole.is_local
    np.testing.assert_array_equal(whole.numpy(), NUMBERS)
    np.testing.assert_array_equal(flow.load(existing, global_src_rank=0)["w"].numpy(), NUMBERS)
    assert len(list(existing.iterdir())) == 2


def check_faults(folder):
    x = flow.tensor(NUMBERS, placement=ALL, sbp=S(0))
    flow.save([x], folder / "faults")
    tensor_file.write = fail_writing if rank == 1 else write
    message = raised(
        OSError if rank == 1 else RuntimeError, lambda: flow.save([x + 1], folder / "faults")
    )
    assert message == "the disk is full" or message.startswith("rank 1 could not write its parts")
    tensor_file.write = write
    np.testing.assert_array_equal(flow.load(folder / "faults")[0].numpy(), NUMBERS)
    assert len(list((folder / "faults").iterdir())) == 2
    own = {f"x{rank}": x} if rank < 2 else {"x0": x}
    assert "rank 1 saves other global tensors" in raised(
        ValueError, lambda: flow.save(own, folder / "faults")
    )
    own = folder / f"unshared{rank}"
    if rank == 0:
        message = raised(RuntimeError, lambda: flow.save([x], own))
        assert "a folder that they share" in message
    else:
        assert "rank 0 could not complete" in raised(RuntimeError, lambda: flow.save([x], own))


def assert_steps(count, folder, training):
    """Compare with some steps of one process, which lie beside the folder."""
    with np.load(folder.parent / f"steps{count}.npz") as expected:
        assert_equal(training.numbers(), [*expected.values()])


def check_training(folder):
    first = Training(ALL, S(0)).step()
    flow.save(first.state_dict(), folder / "training")
    state = flow.load(folder / "training")
    assert_steps(1, folder, Training(ALL, (B,)).load_state_dict(state))
    assert_steps(2, folder, Training(ALL, (S(0),)).load_state_dict(state).step())


def save(folder):
    flow.save(Training(ALL, S(0)).step().state_dict(), folder / "saved")


def load(folder):
    """Load what other ranks have saved, maybe more or fewer of them than there are here."""
    training = Training(ALL, S(0)).load_state_dict(flow.load(folder / "saved"))
    assert_steps(1, folder, training)
    twin = nn.Linear(4, 6).double()
    state = flow.load(folder / "saved")["model"]
    twin.load_state_dict({"weight": state["0.weight"], "bias": state["0.bias"]})
    assert twin.weight.is_local
    return training


def go_on(folder):
    """Load, and train a step."""
    assert_steps(2, folder, load(folder).step())


def end_while_saving(folder):
    """Save over what is there; rank 1 is killed meanwhile."""
    tensor_file.write = end_while_writing if rank == 1 else write
    flow.save({"x": flow.tensor(NUMBERS, placement=ALL, sbp=S(0))}, folder / "saved")


def check(folder):
    check_parts(folder)
    check_one_rank_for_all(folder)
    check_a_folder_that_exists(folder)
    check_faults(folder)
    check_training(folder)


DEEDS = {function.__name__: function for function in (check, save, load, go_on, end_while_saving)}

if __name__ == "__main__":
    DEEDS[sys.argv[1]](Path(sys.argv[2]))
