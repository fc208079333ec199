"""Data parallel training by DDP; the argument holds the losses of one process with all rows."""

import json
import sys

import numpy as np
from tests.distributed.training_runs import TOLERANCE, eager_losses, seeded

import oneflow as flow
from oneflow.nn.parallel import DistributedDataParallel as ddp

rank, size = flow.env.get_rank(), flow.env.get_world_size()
for kind, expected in json.loads(sys.argv[1]).items():
    model, optimizer, inputs = seeded(kind)
    own_rows = [operand.chunk(size)[rank] for operand in inputs]
    losses = flow.tensor(eager_losses(ddp(model), optimizer(model), own_rows))
    flow.comm.all_reduce(losses)
    np.testing.assert_allclose((losses / size).numpy(), expected, rtol=TOLERANCE)
