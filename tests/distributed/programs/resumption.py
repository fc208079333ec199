"""Sharded training is saved by some processes and resumed by others, as if it had gone on.

``resumption.py save FOLDER WAY ...`` takes three steps in some ways and saves them, ``resume`` goes
on for three, on however many processes: with the losses and parameters of one process that was not
interrupted. All processes of a job share the rows of one batch.
"""

import functools
import sys
from pathlib import Path

import numpy as np
from tests.in_place import in_place_of

import oneflow as flow
from oneflow import nn

torch = in_place_of("torch")
fsdp = in_place_of("torch.distributed.fsdp")
wrap = in_place_of("torch.distributed.fsdp.wrap")
dcp = in_place_of("torch.distributed.checkpoint")
dcp_states = in_place_of("torch.distributed.checkpoint.state_dict")
init_device_mesh = in_place_of("torch.distributed.device_mesh").init_device_mesh
FSDP, Kinds = fsdp.FullyShardedDataParallel, fsdp.StateDictType

RANK, SIZE = flow.env.get_rank(), flow.env.get_world_size()
ROWS, STEPS = 8, 3
OPTIMIZERS = {
    "Adam": lambda library, parameters: library.optim.AdamW(
        parameters, lr=0.02, eps=1e-3, weight_decay=0.1
    ),
    "SGD": lambda library, parameters: library.optim.SGD(parameters, lr=0.05, momentum=0.9),
}


def network(library):
    """Five units; no size but the batch's is a multiple of two, nor of four."""
    layers = library.nn
    middle = layers.Sequential(layers.Linear(7, 7), layers.LayerNorm(7))
    model = layers.Sequential(layers.Linear(5, 7), layers.Tanh(), middle, layers.Linear(7, 3))
    for number, parameter in enumerate(model.parameters()):
        values = np.sin(np.arange(parameter.numel()) * (number + 1.7)).astype(np.float32)
        parameter.data = library.tensor(values).reshape(parameter.shape)
    return model


def rows(step):
    return np.cos(np.arange(ROWS * 5, dtype=np.float32) * (1.1 + step)).reshape(ROWS, 5)


def own_rows(step):
    count = ROWS // SIZE
    return torch.tensor(rows(step)[RANK * count : (RANK + 1) * count])


def schedule_of(library, optimizer):
    return library.optim.lr_scheduler.CosineAnnealingLR(optimizer, 7)


@functools.cache
def uninterrupted(kind):
    """The losses of one process, and its parameters in the end."""
    model = network(torch)
    optimizer = OPTIMIZERS[kind](torch, model.parameters())
    schedule, losses = schedule_of(torch, optimizer), []
    for step in range(2 * STEPS):
        optimizer.zero_grad()
        loss = model(torch.tensor(rows(step))).square().mean()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses, {name: value.numpy() for name, value in model.state_dict().items()}


def whole(tensor):
    tensor = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return tensor.detach().numpy()


class Sharded:
    """A model that FSDP shards, its optimizer and schedule, and how they are saved."""

    strategy = "FULL_SHARD"
    states = Kinds.FULL_STATE_DICT

    def __init__(self, folder, kind):
        self.folder, self.kind = folder, kind
        self.model = self.wrapped()
        self.optimizer = OPTIMIZERS[kind](torch, self.model.parameters())
        self.schedule = schedule_of(torch, self.optimizer)

    def wrapped(self):
        model = FSDP(
            network(torch),
            device_id=torch.device("cpu"),
            use_orig_params=True,
            sharding_strategy=fsdp.ShardingStrategy[self.strategy],
            auto_wrap_policy=wrap.ModuleWrapPolicy({torch.nn.Sequential}),
        )
        FSDP.set_state_dict_type(model, self.states)
        return model

    def step(self, step):
        self.optimizer.zero_grad()
        loss = self.model(own_rows(step)).square().mean()
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        mean = torch.tensor([loss.item() / SIZE])
        flow.comm.all_reduce(mean)
        return mean.item()

    def parameters(self):
        with FSDP.state_dict_type(self.model, Kinds.FULL_STATE_DICT):
            return {name: whole(value) for name, value in self.model.state_dict().items()}

    def state(self):
        return {
            "model": self.model.state_dict(),
            "optimizer": FSDP.optim_state_dict(self.model, self.optimizer),
            "schedule": self.schedule.state_dict(),
        }

    def take(self, state):
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(
            FSDP.optim_state_dict_to_load(self.model, self.optimizer, state["optimizer"])
        )
        self.schedule.load_state_dict(state["schedule"])

    def save(self):
        """Every rank has the whole state, and the first one saves it."""
        state = self.state()
        if RANK == 0:
            torch.save(state, self.folder / "state.pt")

    def load(self):
        self.take(torch.load(self.folder / "state.pt", weights_only=False))


class InParts(Sharded):
    """Every rank saves its own part of the state."""

    states = Kinds.SHARDED_STATE_DICT

    def save(self):
        dcp.save(self.state(), checkpoint_id=self.folder / "parts")

    def load(self):
        self.step(0)  # makes the states of the optimizer, which are loaded in place
        state = self.state()
        dcp.load(state, checkpoint_id=self.folder / "parts")
        self.take(state)


class GradientsInParts(InParts):
    strategy = "SHARD_GRAD_OP"


class OnMesh(Sharded):
    """`fully_shard`, with states that `torch.distributed.checkpoint` asks for."""

    options = dcp_states.StateDictOptions()

    def wrapped(self):
        mesh, model = init_device_mesh("cpu", (SIZE,)), network(torch)
        for unit in (model[2], model):
            fsdp.fully_shard(unit, mesh=mesh)
        return model

    def parameters(self):
        return {name: whole(value) for name, value in self.model.state_dict().items()}

    def state(self):
        model, optimizer = dcp_states.get_state_dict(
            self.model, self.optimizer, options=self.options
        )
        return {"model": model, "optimizer": optimizer, "schedule": self.schedule.state_dict()}

    def take(self, state):
        dcp_states.set_state_dict(
            self.model,
            self.optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
            options=self.options,
        )
        self.schedule.load_state_dict(state["schedule"])

    def save(self):
        dcp.save(self.state(), checkpoint_id=self.folder / "parts")

    def load(self):
        state = self.state()
        dcp.load(state, checkpoint_id=self.folder / "parts")
        self.take(state)


class OnMeshWhole(OnMesh):
    """The same, with whole tensors in one file."""

    options = dcp_states.StateDictOptions(full_state_dict=True, cpu_offload=True)

    save, load = Sharded.save, Sharded.load


class Zero:
    """A graph with ZeRO on a placement, whose state `flow.save` keeps."""

    stage = 1

    def __init__(self, folder, kind):
        self.folder = folder
        self.placement = flow.placement("cpu", list(range(SIZE)))
        model = network(flow).to_global(self.placement, flow.sbp.broadcast)
        optimizer = OPTIMIZERS[kind](flow, model.parameters())
        schedule = schedule_of(flow, optimizer)
        stage = self.stage

        class Training(nn.Graph):
            def __init__(self):
                super().__init__()
                self.model = model
                self.add_optimizer(optimizer, lr_sch=schedule)
                self.config.enable_zero(True, stage=stage, shard_min_size=1)

            def build(self, x):
                loss = self.model(x).square().mean()
                loss.backward()
                return loss

        self.model, self.graph = model, Training()

    def step(self, step):
        x = flow.tensor(rows(step), placement=self.placement, sbp=flow.sbp.split(0))
        return self.graph(x).to_global(sbp=flow.sbp.broadcast).to_local().item()

    def parameters(self):
        return {name: value.numpy() for name, value in self.model.state_dict().items()}

    def save(self):
        flow.save(self.graph.state_dict(), self.folder / "graph")

    def load(self):
        self.graph.load_state_dict(flow.load(self.folder / "graph"))


class ZeroWhole(Zero):
    """The same, in a file of the first rank."""

    def save(self):
        flow.save(self.graph.state_dict(), self.folder / "file", global_dst_rank=0)

    def load(self):
        state = flow.load(
            self.folder / "file",
            global_src_rank=0,
            map_location=(self.placement, flow.sbp.broadcast),
        )
        self.graph.load_state_dict(state)


class Zero2(Zero):
    stage = 2


class Zero3(Zero):
    stage = 3


def check(run, steps, kind):
    """Take some steps, whose losses and results are those of one process."""
    losses, parameters = uninterrupted(kind)
    found = [run.step(step) for step in steps]
    np.testing.assert_allclose(found, losses[steps.start : steps.stop], rtol=2e-5)
    if steps.stop == 2 * STEPS:
        for name, value in run.parameters().items():
            np.testing.assert_allclose(value, parameters[name], rtol=2e-4, atol=2e-6, err_msg=name)


deed, root = sys.argv[1], Path(sys.argv[2])
torch.distributed.init_process_group("gloo")
for way in sys.argv[3:]:
    for kind in OPTIMIZERS:
        folder = root / f"{way}-{kind}"
        folder.mkdir(parents=True, exist_ok=True)
        run = globals()[way](folder, kind)
        if deed == "save":
            check(run, range(STEPS), kind)
            run.save()
        else:
            run.load()
            check(run, range(STEPS, 2 * STEPS), kind)
        flow.comm.barrier()
