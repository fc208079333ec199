"""Tools around training: engines, private gradients, curvature, pruning, attacks, summaries."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import backpack
import higher
import ignite.engine
import ignite.handlers
import ignite.metrics
import numpy as np
import opacus
import opacus.grad_sample
import ptflops
import thop
import torch
import torch_pruning
import torchattacks
import torchinfo
import torchsummary
from backpack import extensions
from laplace import Laplace
from mmengine.model import BaseModel
from mmengine.optim import OptimWrapper
from mmengine.runner import load_checkpoint, save_checkpoint
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential
from tools.third_party.measure import array, arrays, integers, keys, numbers, set_values, text

_CLASSES = 3


def _classifier() -> torch.nn.Sequential:
    model = torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(16, _CLASSES),
    )
    set_values(model)
    return model.double()


_IMAGES = numbers(6, 2, 4, 4)
_LABELS = integers(6, below=_CLASSES)
_PAIRS = torch.utils.data.TensorDataset(_IMAGES, _LABELS)


def _parameters(model: torch.nn.Module, kind: str = "after") -> dict[str, np.ndarray]:
    return {f"{kind}: {name}": array(value) for name, value in model.state_dict().items()}


def _engine() -> dict[str, np.ndarray]:
    model = _classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = torch.nn.CrossEntropyLoss()
    trainer = ignite.engine.create_supervised_trainer(model, optimizer, loss)
    metrics = {
        "accuracy": ignite.metrics.Accuracy(),
        "loss": ignite.metrics.Loss(loss),
        "confusion": ignite.metrics.ConfusionMatrix(_CLASSES),
    }
    evaluator = ignite.engine.create_supervised_evaluator(model, metrics)
    losses: list[float] = []
    trainer.add_event_handler(
        ignite.engine.Events.ITERATION_COMPLETED, lambda engine: losses.append(engine.state.output)
    )
    scheduler = ignite.handlers.LinearCyclicalScheduler(optimizer, "lr", 0.1, 0.01, 4)
    trainer.add_event_handler(ignite.engine.Events.ITERATION_STARTED, scheduler)
    loader = torch.utils.data.DataLoader(_PAIRS, batch_size=2)
    trainer.run(loader, max_epochs=2)
    found = evaluator.run(loader).metrics
    return {
        "losses": np.array(losses),
        **{f"metric: {name}": np.array(value) for name, value in found.items()},
        **_parameters(model),
    }


def _private_gradients(mode: str) -> dict[str, np.ndarray]:
    model = opacus.GradSampleModule(_classifier()) if mode == "hooks" else None
    if model is None:
        model = opacus.grad_sample.GradSampleModule(_classifier(), force_functorch=True)
    optimizer = opacus.optimizers.DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1),
        noise_multiplier=0.0,
        max_grad_norm=0.5,
        expected_batch_size=len(_LABELS),
    )
    torch.nn.functional.cross_entropy(model(_IMAGES), _LABELS).backward()
    samples = {
        f"sample gradient: {name}": array(parameter.grad_sample)
        for name, parameter in model.named_parameters()
    }
    optimizer.step()
    return {**samples, **_parameters(model)}


def _privacy_engine() -> dict[str, np.ndarray]:
    model = _classifier()
    engine = opacus.PrivacyEngine(accountant="rdp")
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=torch.utils.data.DataLoader(_PAIRS, batch_size=3),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        poisson_sampling=False,
    )
    for images, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
    return {"spent": np.array(engine.get_epsilon(1e-5)), "keys": keys(model)}


def _meta_learning() -> dict[str, np.ndarray]:
    model = _classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with higher.innerloop_ctx(model, optimizer, copy_initial_weights=False) as (inner, steps):
        for _ in range(2):
            steps.step(torch.nn.functional.cross_entropy(inner(_IMAGES), _LABELS))
        loss = inner(_IMAGES).square().mean()
        loss.backward()
    gradients = {f"gradient: {n}": array(p.grad) for n, p in model.named_parameters()}
    return {"loss": array(loss), **gradients}


def _second_order() -> dict[str, np.ndarray]:
    model = backpack.extend(_classifier())
    loss_function = backpack.extend(torch.nn.CrossEntropyLoss())
    quantities = {
        "grad_batch": extensions.BatchGrad(),
        "variance": extensions.Variance(),
        "batch_l2": extensions.BatchL2Grad(),
        "sum_grad_squared": extensions.SumGradSquared(),
        "diag_ggn_exact": extensions.DiagGGNExact(),
        "kflr": extensions.KFLR(),
    }
    loss = loss_function(model(_IMAGES), _LABELS)
    with backpack.backpack(*quantities.values()):
        loss.backward()
    return {
        f"{quantity}: {name} {path}": value
        for quantity in quantities
        for name, parameter in model.named_parameters()
        for path, value in arrays(getattr(parameter, quantity), "value").items()
    }


def _laplace(structure: str) -> dict[str, np.ndarray]:
    model = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))
    set_values(model)
    samples = numbers(8, 4, dtype=torch.float32)
    labels = integers(8, below=_CLASSES)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(samples, labels), 4)
    posterior = Laplace(
        model, "classification", subset_of_weights="last_layer", hessian_structure=structure
    )
    posterior.fit(loader)
    return {
        "likelihood": array(posterior.log_marginal_likelihood()),
        "predictions": array(posterior(samples, link_approx="probit")),
    }


def _pruning() -> dict[str, np.ndarray]:
    model = torch.nn.Sequential(
        torch.nn.Conv2d(2, 8, 3, padding=1),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 4, 3, padding=1),
        torch.nn.Flatten(),
        torch.nn.Linear(64, _CLASSES),
    )
    set_values(model)
    model.double().eval()
    pruner = torch_pruning.pruner.MagnitudePruner(
        model,
        _IMAGES,
        importance=torch_pruning.importance.MagnitudeImportance(p=2),
        pruning_ratio=0.5,
        ignored_layers=[model[5]],
    )
    operations, parameters = torch_pruning.utils.count_ops_and_params(model, _IMAGES[:1])
    pruner.step()
    return {
        "output": array(model(_IMAGES)),
        "counts": np.array([operations, parameters], float),
        **_parameters(model),
    }


def _attack(make: Callable[[Any], Any]) -> dict[str, np.ndarray]:
    model = _classifier().float().eval()
    images = numbers(4, 2, 4, 4, dtype=torch.float32).sigmoid()
    return {"images": array(make(model)(images, _LABELS[:4]))}


_ATTACKS: dict[str, Callable[[Any], Any]] = {
    "FGSM": lambda model: torchattacks.FGSM(model, eps=0.1),
    "PGD": lambda model: torchattacks.PGD(model, 0.1, 0.02, steps=3, random_start=False),
    "BIM": lambda model: torchattacks.BIM(model, steps=3),
    "MIFGSM": lambda model: torchattacks.MIFGSM(model, steps=3),
    "CW": lambda model: torchattacks.CW(model, steps=5),
    "DeepFool": lambda model: torchattacks.DeepFool(model, steps=3),
}


def _summaries() -> dict[str, np.ndarray]:
    model = _classifier().float()
    found = torchinfo.summary(model, (1, 2, 4, 4), verbose=0, col_width=16)
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        torchsummary.summary(model, (2, 4, 4), device="cpu")
    counted = thop.profile(model, (torch.zeros(1, 2, 4, 4),), verbose=False)
    complexity = ptflops.get_model_complexity_info(
        model, (2, 4, 4), as_strings=False, print_per_layer_stat=False, backend="pytorch"
    )
    return {
        "torchinfo": text(str(found)),
        "torchsummary": text(shown.getvalue()),
        "thop": np.array(counted),
        "ptflops": np.array(complexity, float),
    }


def _tensordict() -> dict[str, np.ndarray]:
    model = _classifier()
    module = TensorDictSequential(
        TensorDictModule(model, in_keys=["images"], out_keys=["logits"]),
        TensorDictModule(torch.nn.Softmax(-1), in_keys=["logits"], out_keys=[("all", "shares")]),
    )
    batch = TensorDict({"images": _IMAGES, "labels": _LABELS}, batch_size=[6])
    loss = torch.zeros((), dtype=torch.float64)
    for part in batch.split(3):
        output = module(part)
        loss = loss + torch.nn.functional.cross_entropy(output["logits"], output["labels"])
    loss.backward()
    stacked = torch.stack([batch[:2], batch[2:4]]).reshape(-1)
    state = TensorDict.from_module(model)
    with (state.data * 0.5).to_module(model):
        halved = model(_IMAGES)
    return {
        "loss": array(loss),
        "halved": array(halved),
        "stacked": array(stacked["images"]),
        "shares": array(module(batch)["all", "shares"]),
        "names": text(sorted(str(key) for key in batch.keys(True))),
        **{f"gradient: {name}": array(p.grad) for name, p in model.named_parameters()},
    }


class _Model(BaseModel):
    """A classifier as mmengine has them."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = _classifier()

    def forward(self, images: torch.Tensor, labels: torch.Tensor, mode: str) -> Any:
        """Return the loss, or the classes."""
        logits = self.layers(images)
        if mode == "loss":
            return {"loss": torch.nn.functional.cross_entropy(logits, labels)}
        return logits.argmax(1)


def _mmengine() -> dict[str, np.ndarray]:
    model = _Model()
    wrapper = OptimWrapper(
        torch.optim.SGD(model.parameters(), lr=0.1),
        accumulative_counts=2,
        clip_grad={"max_norm": 1},
    )
    batch = {"images": _IMAGES, "labels": _LABELS}
    losses = [model.train_step(batch, wrapper)["loss"] for _ in range(4)]
    save_checkpoint({"state_dict": model.state_dict()}, "model.pth")
    again = _Model()
    load_checkpoint(again, "model.pth")
    return {"losses": np.array([float(loss) for loss in losses]), **_parameters(again)}


CASES = {
    "ignite": _engine,
    "opacus with hooks": lambda: _private_gradients("hooks"),
    "opacus with vmap": lambda: _private_gradients("vmap"),
    "opacus engine": _privacy_engine,
    "higher": _meta_learning,
    "backpack": _second_order,
    **{f"laplace {s}": lambda s=s: _laplace(s) for s in ("diag", "kron", "full")},
    "torch_pruning": _pruning,
    **{f"torchattacks {name}": lambda f=f: _attack(f) for name, f in _ATTACKS.items()},
    "summaries": _summaries,
    "tensordict": _tensordict,
    "mmengine": _mmengine,
}
