"""Train a classifier of images in folders, one per class.

DATA holds `train` and `val` with a folder per class each, or the folders of the classes, of which a
fifth of the images is held out. Written to the folder of `--output`: a checkpoint after each
epoch, the learning curves and the confusion matrix of the held-out images.

    python examples/vision/digit_folders.py mnist_folders
    python examples/vision/train.py mnist_folders --model resnet18 --epochs 6 --size 32 --graph

With several processes, by data parallelism or (`--global`) by global tensors:

    python -m oneflow.distributed.launch --nproc_per_node 2 examples/vision/train.py mnist_folders
"""

import argparse
import contextlib
import json
import sys
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from tqdm import tqdm

import oneflow as flow
from flowvision import datasets, transforms
from flowvision.data import IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD, Mixup, create_transform
from flowvision.loss import LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
from flowvision.models import ModelCreator
from flowvision.scheduler import CosineLRScheduler
from flowvision.utils import ModelEmaV2
from oneflow import nn
from oneflow.nn.parallel import DistributedDataParallel
from oneflow.utils.data import DataLoader, DistributedSampler, Subset

RANK, WORLD = flow.env.get_rank(), flow.env.get_world_size()
DEVICE = "cuda" if flow.cuda.is_available() else "cpu"
# The progress bar reads numbers from the device this often; each time, the host waits.
STEPS_PER_READ = 10
CHECKPOINT = "checkpoint.flow"


def parse_options(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("data", type=Path, help="the folder of images")
    add("--model", default="resnet18", help="a name of ModelCreator.model_list()")
    add("--pretrained", default="", help="file of weights to begin with, or 'yes' to download them")
    add("--epochs", type=int, default=10, help="passes over the images (%(default)s)")
    add("--batch", type=int, default=64, help="images in a step of each process")
    add("--size", type=int, default=224, help="height and width of the images")
    add("--augment", default="light", help="none, light (small shifts), crops, or such as rand-m9")
    add("--mixup", type=float, default=0.0, help="parameter of Mixup; 0 leaves it out")
    add("--cutmix", type=float, default=0.0, help="parameter of CutMix; 0 leaves it out")
    add("--smoothing", type=float, default=0.1, help="of labels")
    add("--lr", type=float, default=2e-3, help="highest learning rate")
    add("--weight-decay", type=float, default=0.02, help="of the weights (%(default)s)")
    add("--clip", type=float, default=5.0, help="largest norm of the gradient")
    add("--ema", type=float, default=0.0, help="decay of an average of the weights, such as 0.99")
    add("--graph", action="store_true", help="compile the whole step with nn.Graph")
    add("--global", dest="spread", action="store_true", help="global tensors instead of DDP")
    add("--amp", action="store_true", help="products and convolutions in bfloat16")
    add("--workers", type=int, default=2, help="processes that read images")
    add("--seed", type=int, default=0, help="where random numbers start (%(default)s)")
    output = Path(__file__).parent / "output"
    add("--output", type=Path, default=output, help="the folder of checkpoints (%(default)s)")
    add("--resume", action="store_true", help="go on from the checkpoint in the output folder")
    options = parser.parse_args(arguments)
    if options.graph and WORLD > 1 and not options.spread:
        parser.error("--graph with several processes needs --global")
    if not options.data.is_dir():
        parser.error(f"there is no folder {options.data}")
    return options


# --- data


def read_data(options):
    """The training and the held-out images, and the names of the classes."""
    train, test = pipelines(options)
    folders = [options.data / part for part in ("train", "val")]
    if all(folder.is_dir() for folder in folders):
        train_set = datasets.ImageFolder(folders[0], train)
        test_set = datasets.ImageFolder(folders[1], test)
        if train_set.classes != test_set.classes:
            sys.exit(f"train and val have other classes: {train_set.classes}, {test_set.classes}")
        return train_set, test_set, train_set.classes
    whole = datasets.ImageFolder(options.data, train)
    order = np.random.default_rng(0).permutation(len(whole)).tolist()
    held_out = len(whole) // 5
    test_set = Subset(datasets.ImageFolder(options.data, test), order[:held_out])
    return Subset(whole, order[held_out:]), test_set, whole.classes


def pipelines(options):
    """Transforms for training and for evaluation."""
    if options.augment not in ("none", "light"):
        augmentation = None if options.augment == "crops" else options.augment
        return (
            create_transform(options.size, True, auto_augment=augmentation),
            create_transform(options.size),
        )
    last = [
        transforms.Resize((options.size, options.size)),
        transforms.ToTensor(),
        transforms.Normalize(IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD),
    ]
    first = []
    if options.augment == "light":
        first = [transforms.RandomAffine(10, (0.08, 0.08), (0.9, 1.1), interpolation="bilinear")]
    return transforms.Compose(first + last), transforms.Compose(last)


def make_loader(train_set, options):
    """Batches of this process, and the sampler that wants to know the epoch."""
    sampler = DistributedSampler(train_set, WORLD, RANK, seed=options.seed)
    batches = len(train_set) // WORLD // options.batch
    if batches == 0:
        sys.exit(f"{len(train_set)} images make no batch of {options.batch} in {WORLD} process(es)")
    loader = DataLoader(
        train_set,
        options.batch,
        sampler=sampler,
        num_workers=options.workers,
        persistent_workers=options.workers > 0,
        drop_last=True,
    )
    return loader, sampler


# --- one step


class StepGraph(nn.Graph):
    """A training step as one program."""

    def __init__(self, model, criterion, optimizer, amp):
        super().__init__()
        self.model = model
        self.criterion = criterion
        self.add_optimizer(optimizer)
        self.config.enable_amp(amp, dtype=flow.bfloat16)

    def build(self, x, target):
        logits = self.model(x)
        loss = self.criterion(logits, target)
        loss.backward()
        return loss, logits


def make_step(model, criterion, optimizer, options):
    """The function that takes images and targets, trains, and returns loss and logits."""
    if options.graph:
        return StepGraph(model, criterion, optimizer, options.amp)

    def step(x, target):
        precision = (
            flow.amp.autocast(DEVICE, dtype=flow.bfloat16)
            if options.amp
            else contextlib.nullcontext()
        )
        with precision:
            logits = model(x)
            loss = criterion(logits, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss, logits

    return step


def make_optimizer(model, options):
    """AdamW that clips gradients; biases and norms have no weight decay."""
    decayed = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    clipping = {"clip_grad_max_norm": options.clip, "clip_grad_norm_type": 2.0}
    return flow.optim.AdamW(
        [
            {"params": decayed, "weight_decay": options.weight_decay, **clipping},
            {"params": others, "weight_decay": 0.0, **clipping},
        ],
        lr=options.lr,
    )


# --- training


class Training:
    """A model in training: what changes from step to step and goes into the checkpoint."""

    def __init__(self, options, classes, batches):
        self.options = options
        self.classes = classes
        self.batches = batches
        pretrained = True if options.pretrained == "yes" else options.pretrained or False
        self.model = ModelCreator.create_model(
            options.model, pretrained=pretrained, num_classes=len(classes)
        ).to(DEVICE)
        self.evaluated = self.model
        if options.spread:
            everyone = flow.placement.all(DEVICE)
            self.model = self.model.to_global(everyone, flow.sbp.broadcast)
            self.evaluated = ModelCreator.create_model(options.model, num_classes=len(classes)).to(
                DEVICE
            )
        self.optimizer = make_optimizer(self.model, options)
        self.schedule = CosineLRScheduler(
            self.optimizer,
            t_initial=options.epochs * batches,
            lr_min=options.lr / 100,
            warmup_t=min(batches, options.epochs * batches // 10),
            warmup_lr_init=options.lr / 100,
            cycle_limit=1,
            t_in_epochs=False,
        )
        self.ema = ModelEmaV2(self.model, options.ema) if options.ema else None
        self.mixup = None
        if options.mixup > 0 or options.cutmix > 0:
            self.mixup = Mixup(
                options.mixup,
                options.cutmix,
                label_smoothing=options.smoothing,
                num_classes=len(classes),
            )
        criterion = (
            SoftTargetCrossEntropy()
            if self.mixup
            else LabelSmoothingCrossEntropy(options.smoothing)
        )
        replica = self.model
        if WORLD > 1 and not options.spread:
            replica = DistributedDataParallel(self.model)
        self.replica = replica
        self.step = make_step(replica, criterion, self.optimizer, options)
        self.history = []

    def spread(self, tensor):
        """A batch of this process on its device, or as its part of a global one."""
        if self.options.spread:
            everyone = flow.placement.all(DEVICE)
            return tensor.to_global(everyone, flow.sbp.split(0))
        return tensor.to(DEVICE)

    def train_epoch(self, loader, epoch, progress):
        """One pass over the training images; returns mean loss, accuracy and images per second."""
        self.replica.train()
        waiting, loss_sum, hits, seen = [], 0.0, 0, 0
        start = time.perf_counter()
        for index, (x, labels) in enumerate(loader):
            target = labels
            if self.mixup:
                x, target = self.mixup(x, labels)
            self.schedule.step_update(epoch * self.batches + index)
            labels = self.spread(labels)
            loss, logits = self.step(self.spread(x), self.spread(target))
            if self.ema:
                self.ema.update(self.model)
            waiting.append((loss, (logits.argmax(dim=1) == labels).sum()))
            progress.update(len(x) * WORLD)
            if len(waiting) == STEPS_PER_READ or index + 1 == self.batches:
                loss_sum += sum(tensor.item() for tensor, _ in waiting)
                hits += sum(tensor.item() for _, tensor in waiting)
                seen = index + 1
                waiting = []
                count = seen * self.options.batch * (WORLD if self.options.spread else 1)
                rate = seen * self.options.batch * WORLD / (time.perf_counter() - start)
                progress.set_postfix(
                    loss=f"{loss_sum / seen:.3f}",
                    accuracy=f"{hits / count:.3f}",
                    images_s=f"{rate:.0f}",
                )
        return loss_sum / seen, hits / count, rate

    def evaluate(self, test_set):
        """Return the confusion matrix: counts [true, found]."""
        source = self.ema.module if self.ema else self.model
        if self.options.spread:
            state = {name: tensor.to_local() for name, tensor in source.state_dict().items()}
            self.evaluated.load_state_dict(state)
            source = self.evaluated
        source.eval()
        mine = Subset(test_set, range(RANK, len(test_set), WORLD))
        counts = np.zeros((len(self.classes),) * 2, np.int64)
        with flow.no_grad():
            for x, labels in DataLoader(mine, self.options.batch, num_workers=self.options.workers):
                found = source(x.to(DEVICE)).argmax(dim=1)
                np.add.at(counts, (labels.numpy(), found.numpy()), 1)
        if WORLD > 1:
            total = flow.from_numpy(counts).to(DEVICE)
            flow.comm.all_reduce(total)
            counts = total.numpy()
        return counts

    def state(self):
        """Return the contents of the checkpoint."""
        return {
            "model": self.model.state_dict(),
            "ema": self.ema.state_dict() if self.ema else {},
            "optimizer": self.optimizer.state_dict(),
            "history": json.dumps(self.history),
            "classes": list(self.classes),
            "model_name": self.options.model,
        }

    def save(self, path):
        # A folder of global tensors is written by all ranks, a file of local ones by the first.
        if self.options.spread or RANK == 0:
            flow.save(self.state(), path)

    def load(self, path):
        """Take over a checkpoint; the number of processes and the mode may be others."""
        checkpoint = flow.load(path)
        if list(checkpoint["classes"]) != list(self.classes):
            sys.exit(f"{path} was trained on other classes: {checkpoint['classes']}")
        if checkpoint["model_name"] != self.options.model:
            sys.exit(f"{path} is of the model {checkpoint['model_name']}")
        self.model.load_state_dict(checkpoint["model"])
        self.optimizer.load_state_dict(checkpoint["optimizer"])
        if self.ema and checkpoint["ema"]:
            self.ema.load_state_dict(checkpoint["ema"])
        self.history = json.loads(checkpoint["history"])


def train_epochs(training, loader, sampler, test_set):
    """The epochs that are left, each followed by a checkpoint; returns the last held-out counts."""
    options, first = training.options, len(training.history)
    images = len(loader) * options.batch * WORLD
    with tqdm(
        total=options.epochs * images, initial=first * images, unit="img", disable=RANK != 0
    ) as progress:
        for epoch in range(first, options.epochs):
            sampler.set_epoch(epoch)
            progress.set_description(f"epoch {epoch + 1}")
            loss, accuracy, rate = training.train_epoch(loader, epoch, progress)
            counts = training.evaluate(test_set)
            held_out = counts.trace() / counts.sum()
            training.history.append(
                {"loss": loss, "accuracy": accuracy, "held_out": held_out, "images_s": rate}
            )
            training.save(options.output / CHECKPOINT)
    return counts


# --- pictures


def plot_curves(history, path):
    """Loss, accuracy and speed per epoch."""
    epochs = range(1, len(history) + 1)
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.5), constrained_layout=True)
    axes[0].plot(epochs, [record["loss"] for record in history], marker="o")
    axes[0].set(title="Training loss", xlabel="epoch", ylabel="cross entropy")
    axes[1].plot(epochs, [record["accuracy"] for record in history], marker="o", label="training")
    axes[1].plot(epochs, [record["held_out"] for record in history], marker="o", label="held out")
    axes[1].set(title=f"Accuracy (held out: {history[-1]['held_out']:.1%})", xlabel="epoch")
    axes[1].legend()
    axes[2].plot(epochs, [record["images_s"] for record in history], marker="o")
    axes[2].set(title="Speed", xlabel="epoch", ylabel="images per second", ylim=(0, None))
    figure.savefig(path, dpi=120)
    plt.close(figure)


def plot_confusion(counts, classes, path):
    """The matrix of counts; each row is a true class."""
    size = max(4.0, 0.45 * len(classes) + 2)
    figure, axis = plt.subplots(figsize=(size, size), constrained_layout=True)
    shares = counts / counts.sum(1, keepdims=True).clip(min=1)
    axis.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    if len(classes) <= 30:
        for row, column in np.argwhere(counts):
            color = "white" if shares[row, column] > 0.5 else "black"
            text = str(counts[row, column])
            axis.text(column, row, text, ha="center", va="center", color=color, fontsize=8)
        axis.set_xticks(range(len(classes)), classes, rotation=90)
        axis.set_yticks(range(len(classes)), classes)
    axis.set(xlabel="found", ylabel="true", title=f"Accuracy {counts.trace() / counts.sum():.2%}")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments=None):
    """Train; returns the held-out accuracy."""
    options = parse_options(arguments)
    flow.manual_seed(options.seed)
    np.random.seed(options.seed)
    options.output.mkdir(parents=True, exist_ok=True)
    train_set, test_set, classes = read_data(options)
    loader, sampler = make_loader(train_set, options)
    training = Training(options, classes, len(loader))
    if options.resume:
        training.load(options.output / CHECKPOINT)
    if len(training.history) >= options.epochs:
        sys.exit(f"{CHECKPOINT} has had {len(training.history)} epochs; ask for more with --epochs")
    try:
        counts = train_epochs(training, loader, sampler, test_set)
    except KeyboardInterrupt:
        finished = len(training.history)
        sys.exit(f"stopped; --resume goes on behind epoch {finished}" if finished else "stopped")
    held_out = training.history[-1]["held_out"]
    if RANK == 0:
        plot_curves(training.history, options.output / "learning_curves.png")
        plot_confusion(counts, classes, options.output / "confusion_matrix.png")
        print(f"held-out accuracy {held_out:.4f}; pictures and checkpoint in {options.output}")
    return held_out


if __name__ == "__main__":
    main()
