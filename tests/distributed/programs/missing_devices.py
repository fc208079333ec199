"""Placements and groups with ranks that do not exist: one clear error on every rank, at once.

Nothing is communicated before it, so that it does not matter which ranks come to it.
"""

import itertools
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import oneflow as flow
from oneflow import nn
from oneflow.control_plane.flight_recorder import progress_by_group
from oneflow.utils import global_view

RANK, SIZE = flow.env.get_rank(), flow.env.get_world_size()
B, P, S = flow.sbp.broadcast, flow.sbp.partial_sum, flow.sbp.split
WORLD = flow.placement("cpu", list(range(SIZE)))
FIRST = flow.placement("cpu", [0])
MISSING = [
    flow.placement("cpu", [SIZE]),
    flow.placement("cpu", [SIZE, SIZE + 1]),
    flow.placement("cpu", list(range(SIZE + 1))),
    flow.placement("cpu", [SIZE, 0]),
    flow.placement("cpu", [[0, 1], [SIZE, SIZE + 1]]),
    flow.placement("cuda", [0, 1]),
]
MESSAGE = re.compile(r"rank \d+ (does not exist: the job has|has no cuda device)")
folder = Path(tempfile.mkdtemp())
flow.save({"w": flow.ones(2, 4)}, folder / "local")
everywhere = flow.ones(2, 4, placement=WORLD, sbp=B)
parts = flow.ones(2, 4, placement=WORLD, sbp=S(0))
on_first = flow.ones(2, 4, placement=FIRST, sbp=B)
differentiated = flow.ones(2, 4, placement=WORLD, sbp=B).requires_grad_()


class Moving(nn.Graph):
    """A graph in which a tensor goes to a placement."""

    def __init__(self, placement):
        super().__init__()
        self.placement = placement

    def build(self, x):
        return x.to_global(self.placement, broadcast(self.placement)) + 1


class Staged(nn.Graph):
    """A graph with a stage on a placement."""

    def __init__(self, placement):
        super().__init__()
        self.layer = nn.Identity()
        self.layer.config.set_stage(1, placement)

    def build(self, x):
        return self.layer(x) + 1


def broadcast(placement):
    return [B] * placement.ndim


def in_global_mode(placement):
    with global_view.global_mode(True, placement, broadcast(placement)):
        flow.ones(2)


def buffer(placement):
    module = nn.BatchNorm1d(4)
    module.to_global(placement, broadcast(placement))


USES: dict[str, Callable[[flow.placement], object]] = {
    "ones": lambda it: flow.ones(2, 4, placement=it, sbp=broadcast(it)),
    "empty": lambda it: flow.empty(2, 4, placement=it, sbp=broadcast(it)),
    "arange": lambda it: flow.arange(8, placement=it, sbp=broadcast(it)),
    "randn": lambda it: flow.randn(2, 4, placement=it, sbp=broadcast(it)),
    "normal": lambda it: flow.normal(0.0, 1.0, 4, placement=it, sbp=broadcast(it)),
    "hann_window": lambda it: flow.hann_window(4, placement=it, sbp=broadcast(it)),
    "tensor": lambda it: flow.tensor([[1.0, 2.0]], placement=it, sbp=broadcast(it)),
    "Tensor": lambda it: flow.Tensor(2, 4, placement=it, sbp=broadcast(it)),
    "zeros_like": lambda it: flow.zeros_like(everywhere, placement=it, sbp=broadcast(it)),
    "new_full": lambda it: everywhere.new_full((2,), 3, placement=it, sbp=broadcast(it)),
    "new_tensor": lambda it: everywhere.new_tensor([1], placement=it, sbp=broadcast(it)),
    "local": lambda it: flow.ones(2, 4).to_global(it, broadcast(it)),
    "local, parts": lambda it: flow.ones(2, 4).to_global(it, [S(0)] * it.ndim),
    "local, sums": lambda it: flow.ones(2, 4).to_global(it, [P] * it.ndim),
    "local, unchecked": lambda it: flow.ones(2, 4).to_global(it, broadcast(it), check_meta=False),
    "global": lambda it: everywhere.to_global(it, broadcast(it)),
    "global, parts": lambda it: parts.to_global(it, [S(1)] * it.ndim),
    "global, from the first": lambda it: on_first.to_global(it, broadcast(it)),
    "global, with a gradient": lambda it: differentiated.to_global(it, broadcast(it)),
    "global, old name": lambda it: parts.to_consistent(it, broadcast(it)),
    "tree": lambda it: global_view.to_global({"a": [everywhere]}, it, broadcast(it)),
    "module": lambda it: nn.Linear(2, 2).to_global(it, broadcast(it)),
    "buffer": buffer,
    "global mode": in_global_mode,
    "copy": lambda it: everywhere.clone().copy_(flow.ones(2, 4, placement=it, sbp=broadcast(it))),
    "load": lambda it: flow.load(folder / "local", map_location=it)["w"].numpy(),
    "load parts": lambda it: flow.load(folder / "local", map_location=(it, [S(0)] * it.ndim)),
    "graph": lambda it: Moving(it)(everywhere),
    "stage": lambda it: Staged(it)(everywhere),
    "argument of a graph": lambda it: Staged(WORLD)(flow.ones(2).to_global(it, broadcast(it))),
    "reader": lambda it: nn.CoinFlip(batch_size=8, placement=it, sbp=broadcast(it))(),
    "assertion": lambda it: flow.testing.assert_close(
        everywhere, everywhere.to_global(it, broadcast(it))
    ),
}
GROUPS: dict[str, Callable[[], object]] = {
    "new_group": lambda: flow.distributed.new_group([0, SIZE]),
    "broadcast": lambda: flow.comm.broadcast(flow.ones(2), SIZE),
    "reduce": lambda: flow.comm.reduce(flow.ones(2), SIZE),
    "gather": lambda: flow.comm.gather(flow.ones(2), None, SIZE),
    "scatter": lambda: flow.comm.scatter(flow.ones(2), None, SIZE),
    "send": lambda: flow.comm.send(flow.ones(2), SIZE),
    "recv": lambda: flow.comm.recv(SIZE, flow.zeros(2)),
    "isend": lambda: flow.distributed.isend(flow.ones(2), SIZE),
    "irecv": lambda: flow.distributed.irecv(flow.ones(2), SIZE),
    "broadcast_object_list": lambda: flow.distributed.broadcast_object_list([1], SIZE),
    "save": lambda: flow.save({"w": everywhere}, folder / "global", global_dst_rank=SIZE),
    "load": lambda: flow.load(folder / "local", global_src_rank=SIZE),
}
PLACES = {
    "repeated": [0, 0],
    "none": [],
    "negative": [-1, 0],
    "rows": [[0, 1], [2]],
    "float": [0.5],
}


def message_of(use, *arguments):
    """The text of the error that a use gives."""
    before = sum(count for count, _ in progress_by_group().values())
    try:
        use(*arguments)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    else:
        text = "no error"
    count = sum(count for count, _ in progress_by_group().values()) - before
    return text if not count else f"{count} collective operation(s) before: {text}"


failures = []
for (name, use), place in itertools.product(USES.items(), MISSING):
    text = message_of(use, place)
    if not MESSAGE.search(text) or "before: " in text:
        failures.append(f"{name} on {place}: {text}")
for name, use in GROUPS.items():
    text = message_of(use)
    if not re.search(rf"\b{SIZE}\b", text) or "before: " in text:
        failures.append(f"{name}: {text}")
for name, ranks in PLACES.items():
    text = message_of(flow.placement, "cpu", ranks)
    if "`ranks` must be" not in text:
        failures.append(f"placement, {name}: {text}")
assert not failures, "\n".join(failures)
total = flow.ones(2)
flow.comm.all_reduce(total)
assert total.tolist() == [SIZE, SIZE]
