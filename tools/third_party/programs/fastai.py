"""Learners of fastai: pictures and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fastai.callback.core import Callback
from fastai.callback.progress import ProgressCallback
from fastai.callback.schedule import Learner
from fastai.data.block import CategoryBlock, DataBlock
from fastai.data.transforms import IndexSplitter
from fastai.learner import load_learner
from fastai.losses import CrossEntropyLossFlat
from fastai.metrics import accuracy
from fastai.tabular.core import Categorify, FillMissing, Normalize
from fastai.tabular.data import TabularDataLoaders
from fastai.tabular.learner import tabular_config, tabular_learner
from fastai.vision.data import ImageBlock
from fastai.vision.learner import vision_learner
from PIL import Image
from tools.third_party.measure import array, set_values, text
from torchvision.models import resnet18


class _Double(Callback):
    """Gives models of float64 their batches.

    Every step multiplies rounding errors, because statistics of a few pictures normalize their
    features: with float32, a change of all weights by 1e-7 of their values changes PyTorch's own
    loss after training by 2e-3 of its value.
    """

    def before_batch(self) -> None:
        self.learn.xb = tuple(x.double() for x in self.learn.xb)


def _fit(learner: Learner, folder: Path, items: Any, rate: float = 0.01) -> dict[str, Any]:
    """Train, validate, save and load a learner; what comes after is predicted by the loaded one."""
    set_values(learner.model)
    learner.remove_cb(ProgressCallback)
    with learner.no_logging():
        learner.fit(1, rate)
        learner.fit_one_cycle(2, 2 * rate)
        learner.save("weights")
        learner.load("weights")
        found = {
            "losses": np.array([float(x) for x in learner.recorder.losses]),
            "validation": np.array([float(x) for x in learner.validate()]),
            "rates": np.array([float(x) for x in learner.recorder.lrs]),
            **{f"after: {name}": array(x) for name, x in learner.model.named_parameters()},
        }
        learner.export("learner.pkl")
        again = load_learner(folder / "learner.pkl")
        again.remove_cb(ProgressCallback)
        predictions, _ = again.get_preds(dl=again.dls.test_dl(items))
    return found | {"predictions": array(predictions)}


def _pictures() -> dict[str, Any]:
    folder = Path("pictures").absolute()
    folder.mkdir(exist_ok=True)
    draw = np.random.RandomState(0)
    files = []
    for number in range(27):
        values = draw.randint(0, 128, (64, 64, 3))
        values[..., number % 3] += 127
        files.append(folder / f"{'abc'[number % 3]}_{number}.png")
        Image.fromarray(values.astype(np.uint8)).save(files[-1])
    # Splitters by share draw the validation set.
    block = DataBlock(
        blocks=(ImageBlock, CategoryBlock),
        get_y=lambda file: file.name[0],
        splitter=IndexSplitter([2, 5, 10]),
    )
    loaders = block.dataloaders(files, path=folder, bs=12, shuffle=False, num_workers=0)
    learner = vision_learner(
        loaders,
        resnet18,
        pretrained=False,
        normalize=False,
        metrics=accuracy,
        ps=0.0,
        cbs=_Double(),
    )
    learner.model.double()
    return _fit(learner, folder, files[:4], 1e-4) | {"classes": text(list(loaders.vocab))}


def _table() -> dict[str, Any]:
    folder = Path("tables").absolute()
    folder.mkdir(exist_ok=True)
    draw = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "kind": draw.choice(["x", "y", "z"], 40),
            "size": draw.standard_normal(40),
            "weight": np.where(np.arange(40) % 7, draw.standard_normal(40), np.nan),
            "answer": draw.choice(["no", "yes"], 40),
        }
    )
    loaders = TabularDataLoaders.from_df(
        frame,
        path=folder,
        procs=[Categorify, FillMissing, Normalize],
        cat_names=["kind"],
        cont_names=["size", "weight"],
        y_names="answer",
        valid_idx=list(range(10)),
        bs=8,
        shuffle=False,
    )
    learner = tabular_learner(
        loaders,
        layers=[16, 8],
        metrics=accuracy,
        loss_func=CrossEntropyLossFlat(),
        config=tabular_config(ps=0.0),
    )
    return _fit(learner, folder, frame.iloc[:10].copy())


CASES = {"pictures": _pictures, "table": _table}
