"""ZeRO: stages 1 to 3 on a data parallel model, and its checkpoint (two processes)."""

import sys

import oneflow as flow
from oneflow import nn

P = flow.placement("cpu", ranks=[0, 1])
B = flow.sbp.broadcast
S0 = flow.sbp.split(0)


def get_model():
    flow.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 4)).to("cpu")


class CustomGraph(flow.nn.Graph):
    def __init__(self, model, optimizer, zero_stage):
        super().__init__()
        self.model = model
        self.criterion = nn.CrossEntropyLoss()
        self.add_optimizer(optimizer)
        if zero_stage > 0:
            self.config.enable_zero(True, stage=zero_stage, shard_min_size=1, shard_restore_level=0)
        if zero_stage > 1:
            flow.boxing.nccl.enable_use_compute_stream(True)
        if zero_stage > 2:
            flow.boxing.nccl.disable_group_boxing_by_dst_parallel(True)

    def build(self, x, y):
        preds = self.model(x)
        loss = self.criterion(preds, y)
        loss.backward()
        return loss


def train(zero_stage):
    model = get_model()
    model = model.to_global(placement=P, sbp=B)
    optimizer = flow.optim.Adam(model.parameters(), lr=1e-2)
    graph_model = CustomGraph(model, optimizer, zero_stage)
    x = flow.randn(16, 64, placement=P, sbp=S0)
    y = flow.randint(0, 4, (16,), placement=P, sbp=S0)
    losses = [graph_model(x, y).item() for _ in range(5)]
    return model, optimizer, losses


_, _, expected = train(0)
for stage in (1, 2, 3):
    model, optimizer, losses = train(stage)
    assert all(abs(a - b) < 1e-4 * b for a, b in zip(losses, expected, strict=True))
    state = optimizer.state[model[0].weight]
    assert state["exp_avg"].to_local().numel() == 64 * 32 // 2

# All ranks take part; rank 0 writes the file.
folder = sys.argv[1]
flow.save(model.state_dict(), f"{folder}/zero", global_dst_rank=0)
flow.comm.barrier()
state_dict = flow.load(f"{folder}/zero", global_src_rank=0)
fresh = get_model().to_global(placement=P, sbp=B)
fresh.load_state_dict(state_dict)
for one, other in zip(fresh.parameters(), model.parameters(), strict=True):
    assert (one.numpy() == other.numpy()).all()
