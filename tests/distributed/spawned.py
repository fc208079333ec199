"""Functions that tests run in processes of their own."""

import json
import os
import pathlib
import time

import oneflow as flow
import oneflow.distributed as dist
from oneflow.nn.parallel import DistributedDataParallel


def write_number(number: int, folder: str, text: str) -> None:
    pathlib.Path(folder, str(number)).write_text(text * number)


def fail_second(number: int) -> None:
    if number == 1:
        raise ValueError("the second one fails")
    time.sleep(600)


def leave(number: int, status: int) -> None:
    os._exit(status)


def train_as_rank(rank: int, size: int, port: int, folder: str) -> None:
    """Become a rank by `init_process_group`, and train a module that all ranks share."""
    flow.manual_seed(rank)
    if rank == 0:
        os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
        dist.init_process_group("gloo", rank=rank, world_size=size)
    else:
        dist.init_process_group("gloo", f"tcp://localhost:{port}", rank=rank, world_size=size)
    assert (dist.get_rank(), dist.get_world_size()) == (rank, size)
    model = DistributedDataParallel(flow.nn.Linear(2, 1))
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(flow.ones(3, 2) * (rank + 1)).sum().backward()
        optimizer.step()
    found = [None] * size
    dist.all_gather_object(found, (model.weight.tolist(), flow.initial_seed()))
    dist.destroy_process_group()
    pathlib.Path(folder, str(rank)).write_text(json.dumps(found))


def join_after_a_tensor(rank: int, port: int) -> None:
    flow.ones(2).sum().item()
    dist.init_process_group("gloo", f"tcp://localhost:{port}", rank=rank, world_size=2)
