"""A pipeline in the words of OneFlow 0.9: stages are set on `GraphModule` (two processes)."""

import oneflow as flow
from oneflow import nn

P0 = flow.placement("cpu", ranks=[0])
P1 = flow.placement("cpu", ranks=[1])
B = flow.sbp.broadcast


class Stages(nn.Module):
    def __init__(self):
        super().__init__()
        self.m_stage0 = nn.Linear(8, 8, False).to_global(placement=P0, sbp=B)
        self.m_stage1 = nn.Linear(8, 8, False).to_global(placement=P1, sbp=B)

    def forward(self, x):
        return self.m_stage1(self.m_stage0(x).to_global(placement=P1, sbp=B))


class PipelineGraph(nn.Graph):
    def __init__(self, model, optimizer):
        super().__init__()
        self.model = model
        self.model.m_stage0.to(nn.graph.GraphModule).set_stage(0, P0)
        self.model.m_stage1.to(nn.graph.GraphModule).set_stage(1, P1)
        self.config.set_gradient_accumulation_steps(4)
        self.add_optimizer(optimizer)

    def build(self, x, y):
        loss = nn.functional.mse_loss(self.model(x), y)
        loss.backward()
        return loss


model = Stages()
graph = PipelineGraph(model, flow.optim.SGD(model.parameters(), lr=0.1))
x = flow.randn(16, 8, placement=P0, sbp=B)
y = flow.randn(16, 8, placement=P1, sbp=B)
losses = [graph(x, y) for _ in range(5)]
assert losses[0].placement == P1
if flow.env.get_rank() == 1:
    assert losses[-1].to_local().mean() < losses[0].to_local().mean()
