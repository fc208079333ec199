"""Lightning's trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from tools.third_party.measure import array, numbers, set_values, text


class _Regression(lightning.LightningModule):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 2)
        )
        self.losses = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        loss = torch.nn.functional.mse_loss(self(batch[0]), batch[1])
        self.log("loss", loss, on_epoch=True)
        self.losses.append(loss.detach())
        return loss

    def validation_step(self, batch: Any, index: int) -> None:
        self.log("validation", torch.nn.functional.mse_loss(self(batch[0]), batch[1]))

    def predict_step(self, batch: Any, index: int) -> torch.Tensor:
        return self(batch[0])

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]


def _loader() -> Any:
    samples = torch.utils.data.TensorDataset(numbers(8, 4), numbers(8, 2, seed=1))
    return torch.utils.data.DataLoader(samples, batch_size=2)


def _trainer(folder: str, epochs: int, **options: Any) -> lightning.Trainer:
    return lightning.Trainer(
        accelerator="cpu",
        devices=1,
        precision="64-true",
        max_epochs=epochs,
        default_root_dir=folder,
        enable_progress_bar=False,
        enable_model_summary=False,
        log_every_n_steps=1,
        **options,
    )


def _measured(model: _Regression) -> dict[str, Any]:
    return {
        "losses": array(torch.stack(model.losses)),
        **{f"after: {name}": array(parameter) for name, parameter in model.named_parameters()},
    }


def _fit(**options: Any) -> dict[str, Any]:
    model = _Regression()
    set_values(model.double())
    trainer = _trainer("fit", 2, logger=False, enable_checkpointing=False, **options)
    trainer.fit(model, _loader(), _loader())
    metrics = {
        f"metric: {name}": array(callback_metric)
        for name, callback_metric in trainer.callback_metrics.items()
    }
    return {**_measured(model), **metrics}


def _resume() -> dict[str, Any]:
    model = _Regression()
    set_values(model.double())
    saving = ModelCheckpoint("resumed", filename="last", save_top_k=1, monitor="validation")
    callbacks = [saving, EarlyStopping("validation"), LearningRateMonitor()]
    logger = CSVLogger("logs", version=0)
    _trainer("resumed", 2, logger=logger, callbacks=callbacks).fit(model, _loader(), _loader())
    again = _Regression.load_from_checkpoint(saving.best_model_path).double()
    trainer = _trainer("resumed", 3, logger=False, enable_checkpointing=False)
    trainer.fit(again, _loader(), ckpt_path=saving.best_model_path)
    content = torch.load(saving.best_model_path, map_location="cpu", weights_only=False)
    predictions = trainer.predict(again, _loader())
    return {
        **_measured(again),
        "content": text(sorted(content)),
        "log": text(Path("logs/lightning_logs/version_0/metrics.csv").read_text().split("\n")[0]),
        "predictions": array(torch.cat(predictions)),
    }


CASES = {
    "fit": _fit,
    "fit with accumulation": lambda: _fit(accumulate_grad_batches=2, gradient_clip_val=0.5),
    "resume": _resume,
}
