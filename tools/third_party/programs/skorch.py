"""Estimators of skorch, with scikit-learn around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import skorch
import torch
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from skorch.callbacks import Checkpoint, EarlyStopping, EpochScoring, LRScheduler
from tools.third_party.measure import array, set_values, text


class _Network(torch.nn.Module):
    def __init__(self, width: int = 8, outputs: int = 3) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(4, width), torch.nn.Tanh(), torch.nn.Linear(width, outputs)
        )
        set_values(self)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


_OPTIONS = {"max_epochs": 3, "verbose": 0, "iterator_train__shuffle": False, "batch_size": 8}


def _samples() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.RandomState(0)
    x = draw.standard_normal((24, 4)).astype(np.float32)
    return x, (x[:, 0] > 0).astype(np.int64) + (x[:, 1] > 0)


def _measured(net: Any, x: np.ndarray) -> dict[str, Any]:
    return {
        "losses": np.array(net.history[:, "train_loss"]),
        **{f"after: {n}": array(p) for n, p in net.module_.named_parameters()},
        "prediction": np.asarray(net.predict(x)),
    }


def _classifier() -> dict[str, Any]:
    x, y = _samples()
    net = skorch.NeuralNetClassifier(
        _Network,
        criterion=torch.nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        lr=0.05,
        callbacks=[EpochScoring("accuracy"), LRScheduler("StepLR", step_size=1), EarlyStopping()],
        **_OPTIONS,
    )
    net.fit(x, y)
    return {
        **_measured(net, x),
        "probabilities": net.predict_proba(x),
        "columns": text(sorted(member for member in net.history[-1] if member != "dur")),
    }


def _regressor() -> dict[str, Any]:
    x, y = _samples()
    net = skorch.NeuralNetRegressor(
        _Network, module__outputs=1, train_split=None, lr=0.1, **_OPTIONS
    )
    net.fit(x, y[:, None].astype(np.float32))
    net.set_params(lr=0.01).partial_fit(x, y[:, None].astype(np.float32))
    return _measured(net, x)


def _search() -> dict[str, Any]:
    x, y = _samples()
    net = skorch.NeuralNetClassifier(
        _Network, criterion=torch.nn.CrossEntropyLoss, train_split=None, **_OPTIONS
    )
    steps = Pipeline([("scale", StandardScaler()), ("net", net)])
    search = GridSearchCV(steps, {"net__lr": [0.01, 0.3], "net__module__width": [4, 8]}, cv=2)
    search.fit(x, y)
    return {"best": text(search.best_params_), "scores": search.cv_results_["mean_test_score"]}


def _saved() -> dict[str, Any]:
    x, y = _samples()
    options = {"criterion": torch.nn.CrossEntropyLoss, "train_split": None, **_OPTIONS}
    saving = Checkpoint(monitor=None, dirname="checkpoint", f_pickle="net.pkl")
    net = skorch.NeuralNetClassifier(_Network, lr=0.1, callbacks=[saving], **options).fit(x, y)
    net.save_params("parameters.pt", "optimizer.pt", None, "history.json")
    again = skorch.NeuralNetClassifier(_Network, lr=0.1, **options).initialize()
    again.load_params("parameters.pt", "optimizer.pt", None, "history.json")
    again.partial_fit(x, y)
    return _measured(again, x)


CASES = {"classifier": _classifier, "regressor": _regressor, "search": _search, "saved": _saved}
