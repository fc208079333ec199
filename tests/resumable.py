"""A training program that can stop after any step and go on in another process.

    python -m tests.resumable FOLDER STEPS WORKERS [CHECKPOINT]

It trains from the beginning or from CHECKPOINT, and writes `checkpoint` with the number of the step
into FOLDER behind each of STEPS, such as `4,9`, and `losses` behind the last.
"""

import random
import sys
from pathlib import Path

import numpy as np

import oneflow as flow
from oneflow import nn
from oneflow.utils.data import DataLoader, Dataset


class Points(Dataset):
    """Points of two classes, moved a little at random each time."""

    def __len__(self):
        return 22

    def __getitem__(self, index):
        point = np.random.default_rng(index).normal(size=6).astype(np.float32)
        shift = np.float32(random.random() * 0.1 + np.random.rand() * 0.1)
        return point + shift, int(point.sum() > 0)


class Training:
    """Everything whose state has to survive."""

    def __init__(self, workers):
        flow.manual_seed(11)
        random.seed(12)
        np.random.seed(13)
        self.model = nn.Sequential(
            nn.Linear(6, 16),
            nn.BatchNorm1d(16),
            nn.ReLU(),
            nn.Dropout(0.3),
            nn.Linear(16, 2),
        )
        self.optimizer = flow.optim.AdamW(self.model.parameters(), lr=0.05, weight_decay=0.01)
        cosine = flow.optim.lr_scheduler.CosineDecayLR(self.optimizer, decay_steps=20)
        self.scheduler = flow.optim.lr_scheduler.WarmUpLR(cosine, warmup_iters=3)
        self.loader = DataLoader(Points(), batch_size=4, shuffle=True, num_workers=workers)
        self.step = 0

    def state_dict(self):
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "loader": self.loader.state_dict(),
            "step": self.step,
            "random": [flow.get_rng_state(), random.getstate(), np.random.get_state()],
        }

    def load_state_dict(self, state):
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.loader.load_state_dict(state["loader"])
        self.step = state["step"]
        generator, python, numpy = state["random"]
        flow.set_rng_state(generator)
        random.setstate(python)
        np.random.set_state(numpy)

    def run(self, folder, steps):
        """Train up to the last of the steps, with a checkpoint behind each; return the losses."""
        losses = []
        criterion = nn.CrossEntropyLoss()
        while True:
            for points, labels in self.loader:
                self.optimizer.zero_grad()
                loss = criterion(self.model(points), labels)
                loss.backward()
                self.optimizer.step()
                self.scheduler.step()
                losses.append(loss.item())
                self.step += 1
                if self.step in steps:
                    flow.save(self.state_dict(), folder / f"checkpoint{self.step}")
                if self.step == steps[-1]:
                    return losses


def main(folder, steps, workers, checkpoint=None):
    flow.use_deterministic_algorithms(True)
    training = Training(int(workers))
    if checkpoint is not None:
        training.load_state_dict(flow.load(checkpoint))
    losses = training.run(Path(folder), [int(step) for step in steps.split(",")])
    flow.save(losses, Path(folder) / "losses")


if __name__ == "__main__":
    main(*sys.argv[1:])
