"""A pipeline of two stages, each on a rank of its own, as one `nn.Graph`.

Run it with two processes, or with one process that plays both ranks:

    python -m oneflow.distributed.launch --nproc_per_node 2 examples/pipeline.py
    ONEFLOW_CPU_DEVICES=2 python examples/pipeline.py
"""

from command_line import make_parser, run
from tqdm import trange

import oneflow as flow

BROADCAST = [flow.sbp.broadcast]
FIRST = flow.placement("cpu", ranks=[0])
SECOND = flow.placement("cpu", ranks=[1])


class Stages(flow.nn.Module):
    """Two stages; every stage lies on its own placement."""

    def __init__(self) -> None:
        super().__init__()
        self.stage0 = flow.nn.Sequential(
            flow.nn.Flatten(), flow.nn.Linear(28 * 28, 512), flow.nn.ReLU()
        )
        self.stage1 = flow.nn.Linear(512, 10)
        self.stage0.to_global(placement=FIRST, sbp=BROADCAST)
        self.stage1.to_global(placement=SECOND, sbp=BROADCAST)

    def forward(self, x: flow.Tensor) -> flow.Tensor:
        """Logits on the second placement."""
        hidden = self.stage0(x)
        return self.stage1(hidden.to_global(placement=SECOND, sbp=BROADCAST))


class Pipeline(flow.nn.Graph):
    """One training step; four micro batches keep both stages busy."""

    def __init__(self, model: Stages) -> None:
        super().__init__()
        self.model = model
        self.model.stage0.config.set_stage(0, FIRST)
        self.model.stage1.config.set_stage(1, SECOND)
        self.loss = flow.nn.CrossEntropyLoss()
        self.config.set_gradient_accumulation_steps(4)
        self.add_optimizer(flow.optim.SGD(model.parameters(), lr=0.1))

    def build(self, x: flow.Tensor, y: flow.Tensor) -> flow.Tensor:
        """The losses of the micro batches."""
        loss = self.loss(self.model(x), y)
        loss.backward()
        return loss


def main() -> None:
    """Train on made-up digits."""
    parser = make_parser(__doc__, "pipeline")
    parser.add_argument("--steps", type=int, default=20, help="steps of training")
    options = parser.parse_args()
    flow.manual_seed(0)
    graph = Pipeline(Stages())
    x = flow.randn(64, 1, 28, 28, placement=FIRST, sbp=BROADCAST)
    y = flow.randint(0, 10, (64,), placement=SECOND, sbp=BROADCAST)
    rank, last = flow.env.get_rank(), flow.env.get_world_size() - 1
    for step in trange(options.steps, unit="step", disable=rank != last):
        loss = graph(x, y)
        if step % 5 == 4 and rank == last:
            print(f"step {step + 1}: loss {loss.to_local().mean().item():.4f}")
    if rank == 0:
        options.output.mkdir(parents=True, exist_ok=True)
        graph.draw_schedule(options.output / "pipeline.svg")
        print(f"{options.output / 'pipeline.svg'} shows what each stage did when")


if __name__ == "__main__":
    run(main)
