"""Models that accelerate makes without values, loads, spreads and trains."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import accelerate
import torch
from tools.third_party.measure import array, arrays, keys, numbers, set_values, text


class _Network(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.second = torch.nn.Linear(8, 2)
        self.register_buffer("scale", torch.full((2,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.norm(self.first(x)).relu()) * self.scale


def _made() -> _Network:
    model = _Network().double()
    set_values(model)
    return model.eval()


def _empty() -> dict[str, Any]:
    with accelerate.init_empty_weights():
        model = _Network()
    devices = text([str(parameter.device) for parameter in model.parameters()])
    model.to_empty(device="cpu").double().load_state_dict(_made().state_dict())
    return {"devices": devices, "keys": keys(model), **arrays(model.eval()(numbers(3, 4)))}


def _load_and_dispatch() -> dict[str, Any]:
    folder = Path("dispatched")
    accelerate.Accelerator(cpu=True).save_model(_made(), str(folder))
    with accelerate.init_empty_weights():
        model = _Network()
    model = accelerate.load_checkpoint_and_dispatch(
        model, str(folder), device_map={"": "cpu"}, dtype=torch.float64
    )
    return {"keys": keys(model), **arrays(model.eval()(numbers(3, 4)))}


def _offload(where: str) -> dict[str, Any]:
    model = _made()
    if where == "disk":
        accelerate.disk_offload(model, "offloaded", execution_device=torch.device("cpu"))
    else:
        accelerate.cpu_offload(model, execution_device=torch.device("cpu"))
    return {
        "devices": text([str(parameter.device) for parameter in model.parameters()]),
        **arrays(model(numbers(3, 4))),
    }


def _sizes() -> dict[str, Any]:
    model = _made()
    sizes = accelerate.utils.compute_module_sizes(model)
    devices = accelerate.infer_auto_device_map(model, max_memory={"cpu": 10**9})
    return {"sizes": text(dict(sizes)), "devices": text(dict(devices))}


def _train(**options: Any) -> dict[str, Any]:
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    accelerator = accelerate.Accelerator(cpu=True, **options)
    model = _made().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    samples = torch.utils.data.TensorDataset(numbers(8, 4), numbers(8, 2, seed=1))
    loader = torch.utils.data.DataLoader(samples, batch_size=2)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    losses = []
    for inputs, targets in loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather(loss.detach()))
    accelerator.save_state("state")
    plain = accelerator.unwrap_model(model)
    trained = {name: parameter.detach().clone() for name, parameter in plain.named_parameters()}
    set_values(plain)
    accelerator.load_state("state")
    loaded = dict(plain.named_parameters())
    return {
        "losses": array(torch.stack([tensor.reshape(()) for tensor in losses])),
        "files": text(sorted(path.name for path in Path("state").iterdir())),
        "rate": array(torch.tensor(schedule.get_last_lr())),
        **{f"after: {name}": array(tensor) for name, tensor in trained.items()},
        **{f"loaded: {name}": array(tensor) for name, tensor in loaded.items()},
    }


CASES = {
    "empty weights": _empty,
    "load and dispatch": _load_and_dispatch,
    "cpu offload": partial(_offload, "cpu"),
    "disk offload": partial(_offload, "disk"),
    "sizes": _sizes,
    "train": _train,
    "train with accumulation": partial(_train, gradient_accumulation_steps=2),
}
