"""Attributions of captum."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from captum import attr
from captum.influence import TracInCP
from captum.metrics import sensitivity_max
from captum.robust import FGSM, PGD
from tools.third_party.measure import array, arrays, integers, numbers, set_values


def _model() -> torch.nn.Sequential:
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(64, 8),
        torch.nn.ReLU(),
        torch.nn.Linear(8, 5),
    )
    set_values(model)
    return model.double().eval()


_BASELINE = 0.1
_METHODS: dict[str, Callable[[Any, torch.Tensor], Any]] = {
    "Saliency": lambda m, x: attr.Saliency(m).attribute(x, target=1),
    "InputXGradient": lambda m, x: attr.InputXGradient(m).attribute(x, target=1),
    "IntegratedGradients": lambda m, x: attr.IntegratedGradients(m).attribute(
        x, _BASELINE, target=1, n_steps=6, return_convergence_delta=True
    ),
    "IntegratedGradients in parts": lambda m, x: attr.IntegratedGradients(m).attribute(
        x, target=torch.tensor([1, 3]), n_steps=6, internal_batch_size=2, method="riemann_trapezoid"
    ),
    "DeepLift": lambda m, x: attr.DeepLift(m).attribute(x, x * _BASELINE, target=1),
    "DeepLiftShap": lambda m, x: attr.DeepLiftShap(m).attribute(x, x.roll(1, 0), target=1),
    "GuidedBackprop": lambda m, x: attr.GuidedBackprop(m).attribute(x, target=1),
    "Deconvolution": lambda m, x: attr.Deconvolution(m).attribute(x, target=1),
    "GuidedGradCam": lambda m, x: attr.GuidedGradCam(m, m[0]).attribute(x, target=1),
    "LRP": lambda m, x: attr.LRP(m[4:]).attribute(x.flatten(1)[:, :64], target=1),
    "FeatureAblation": lambda m, x: attr.FeatureAblation(m).attribute(
        x, target=1, feature_mask=torch.arange(3)[None, :, None, None]
    ),
    "Occlusion": lambda m, x: attr.Occlusion(m).attribute(
        x, (3, 4, 4), strides=(3, 4, 4), target=1
    ),
    "ShapleyValues": lambda m, x: attr.ShapleyValues(m).attribute(
        x, target=1, feature_mask=torch.zeros(1, 1, 1, 1, dtype=torch.long)
    ),
    "NoiseTunnel": lambda m, x: attr.NoiseTunnel(attr.Saliency(m)).attribute(
        x, nt_samples=2, stdevs=0.0, nt_type="smoothgrad_sq", target=1
    ),
    "LayerActivation": lambda m, x: attr.LayerActivation(m, m[0]).attribute(x),
    "LayerGradCam": lambda m, x: attr.LayerGradCam(m, m[0]).attribute(x, target=1),
    "LayerConductance": lambda m, x: attr.LayerConductance(m, m[4]).attribute(
        x, target=1, n_steps=5
    ),
    "LayerIntegratedGradients": lambda m, x: attr.LayerIntegratedGradients(m, m[0]).attribute(
        x, target=1, n_steps=5
    ),
    "LayerDeepLift": lambda m, x: attr.LayerDeepLift(m, m[4]).attribute(x, x * _BASELINE, target=1),
    "InternalInfluence": lambda m, x: attr.InternalInfluence(m, m[0]).attribute(
        x, target=1, n_steps=5
    ),
    "NeuronGradient": lambda m, x: attr.NeuronGradient(m, m[4]).attribute(x, (2,)),
    "NeuronConductance": lambda m, x: attr.NeuronConductance(m, m[4]).attribute(
        x, (2,), target=1, n_steps=5
    ),
    "FGSM": lambda m, x: FGSM(m).perturb(x, 0.1, torch.tensor([1, 3])),
    "PGD": lambda m, x: PGD(m).perturb(x, 0.3, 0.1, 3, torch.tensor([1, 3])),
    "sensitivity": lambda m, x: sensitivity_max(
        lambda inputs: attr.Saliency(m).attribute(inputs, target=1),
        x,
        perturb_func=lambda inputs: inputs + 0.1,
        n_perturb_samples=2,
    ),
}


def _method(name: str) -> dict[str, Any]:
    result = _METHODS[name](_model(), numbers(2, 3, 8, 8))
    return arrays(list(result) if isinstance(result, tuple) else [result])


def _embeddings() -> dict[str, Any]:
    model = torch.nn.Sequential(
        torch.nn.Embedding(9, 4), torch.nn.Flatten(), torch.nn.Linear(12, 3)
    )
    set_values(model)
    layer = attr.LayerIntegratedGradients(model.double(), model[0])
    tokens = integers(2, 3, below=9)
    found, delta = layer.attribute(
        tokens, torch.zeros_like(tokens), target=1, n_steps=5, return_convergence_delta=True
    )
    return arrays([found, delta])


def _influence() -> dict[str, Any]:
    model = torch.nn.Linear(4, 2).double()
    set_values(model)
    torch.save(model.state_dict(), "checkpoint.pt")
    samples = torch.utils.data.TensorDataset(numbers(6, 4), numbers(6, 2, seed=1))

    def load(module: Any, path: str) -> float:
        module.load_state_dict(torch.load(path))
        return 1.0

    tracing = TracInCP(
        model,
        samples,
        ["checkpoint.pt"],
        checkpoints_load_func=load,
        loss_fn=torch.nn.MSELoss(reduction="none"),
        batch_size=3,
    )
    scores = tracing.influence((numbers(2, 4, seed=2), numbers(2, 2, seed=3)))
    return {"scores": array(scores)}


CASES = {
    **{name: partial(_method, name) for name in _METHODS},
    "embeddings": _embeddings,
    "influence": _influence,
}
