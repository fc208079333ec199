"""Says which of several processes this is."""

import json
import sys

import oneflow as flow

x = flow.ones(2)
flow.comm.all_reduce(x)
names = ("get_rank", "get_world_size", "get_local_rank", "get_node_size")
sys.stdout.write(json.dumps([*(getattr(flow.env, name)() for name in names), x.tolist()]) + "\n")
