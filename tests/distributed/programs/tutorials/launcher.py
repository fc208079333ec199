"""The facts that the launcher tells each process (any number of them)."""

import os

import oneflow as flow

assert flow.env.get_world_size() == int(os.environ["WORLD_SIZE"])
assert flow.env.get_rank() == int(os.environ["RANK"])
assert flow.env.get_local_rank() == int(os.environ["LOCAL_RANK"])
assert flow.env.get_node_size() == 1
assert flow.env.all_device_placement("cpu").ranks.tolist() == list(range(flow.env.get_world_size()))
x = flow.tensor([1, 2]) + flow.env.get_rank()
flow.comm.all_reduce(x)
size = flow.env.get_world_size()
assert x.tolist() == [size * first + size * (size - 1) // 2 for first in (1, 2)]
