"""Train a small convolutional network on real handwritten digits, and look at what it learned.

The data are 5,000 images of MNIST (see `digits.py`): 4,000 to train on, 1,000 held out. Written to
`examples/output`: the checkpoint, the learning curves and a sheet of test images with the answers.

    python examples/mnist.py --epochs 12
"""

import subprocess
import sys
import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from command_line import OUTPUT, make_parser, run
from digits import read_digits
from tqdm import tqdm

import oneflow as torch
from oneflow import nn
from oneflow.utils.data import DataLoader, TensorDataset

GOAL = 0.95


class Net(nn.Module):
    """Two convolutions and two linear layers: 225,034 parameters."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Dropout(0.4),
            nn.Linear(64 * 7 * 7, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        )

    def forward(self, x):
        return self.classifier(self.features(x))


def load_digits(held_out=1000):
    """The training set, and the held-out images, float32 [1000, 1, 28, 28], with their digits."""
    pixels, digits = read_digits()
    images = torch.from_numpy(pixels[:, None].astype(np.float32) / 255.0)
    labels = torch.from_numpy(digits.astype(np.int64))
    train_set = TensorDataset(images[:-held_out], labels[:-held_out])
    return train_set, (images[-held_out:], labels[-held_out:])


@torch.no_grad()
def predict(model, images, batch=250):
    """The most likely digit of each image."""
    model.eval()
    return torch.cat([model(part).argmax(dim=1) for part in images.split(batch)])


def accuracy(model, images, labels):
    """Share of images whose digit is found."""
    return (predict(model, images) == labels).float().mean().item()


def train_epoch(model, loader, optimizer, scheduler, progress):
    """One pass over the training images; returns the mean loss and accuracy."""
    model.train()
    criterion = nn.CrossEntropyLoss()
    total_loss = total_hits = seen = 0
    start = time.perf_counter()
    for images, labels in loader:
        logits = model(images)
        loss = criterion(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()

        seen += len(labels)
        total_loss += loss.item() * len(labels)
        total_hits += (logits.argmax(dim=1) == labels).sum().item()
        rate = seen / (time.perf_counter() - start)
        progress.set_postfix(
            refresh=False,
            loss=f"{total_loss / seen:.3f}",
            accuracy=f"{total_hits / seen:.3f}",
            images_s=f"{rate:.0f}",
        )
        progress.update(len(labels))
    return total_loss / seen, total_hits / seen


def train(options):
    """Train, save the checkpoint and the pictures; returns the held-out accuracy."""
    torch.manual_seed(options.seed)
    train_set, (test_images, test_labels) = load_digits()
    loader = DataLoader(train_set, batch_size=100, shuffle=True)
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.epochs * len(loader))
    history = []
    with tqdm(total=options.epochs * len(train_set), unit="img", desc="training") as progress:
        for _ in range(options.epochs):
            loss, hits = train_epoch(model, loader, optimizer, scheduler, progress)
            history.append((loss, hits, accuracy(model, test_images, test_labels)))
    OUTPUT.mkdir(exist_ok=True)
    result = history[-1][-1]
    torch.save({"model": model.state_dict(), "accuracy": result}, OUTPUT / "mnist.flow")
    plot_curves(history, OUTPUT / "learning_curves.png")
    plot_predictions(model, test_images, test_labels, OUTPUT / "predictions.png")
    return result


def plot_curves(history, path):
    """Loss and accuracy per epoch as a picture."""
    epochs = range(1, len(history) + 1)
    loss, hits, held_out = zip(*history, strict=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), constrained_layout=True)
    left.plot(epochs, loss, marker="o")
    left.set(title="Training loss", xlabel="epoch", ylabel="cross entropy", yscale="log")
    right.plot(epochs, hits, marker="o", label="training")
    right.plot(epochs, held_out, marker="o", label="held out")
    right.set(title=f"Accuracy (held out: {held_out[-1]:.1%})", xlabel="epoch")
    right.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def plot_predictions(model, images, labels, path, rows=5, columns=10):
    """Test images with the network's answers, red if wrong, which come first, or green."""
    answers = predict(model, images).numpy()
    truth = labels.numpy()
    order = np.argsort(answers == truth, kind="stable")[: rows * columns]
    figure, axes = plt.subplots(rows, columns, figsize=(columns, rows * 1.2))
    for axis, index in zip(axes.flat, order, strict=True):
        right = answers[index] == truth[index]
        axis.imshow(images[int(index), 0].numpy(), cmap="gray_r")
        title = str(answers[index]) if right else f"{answers[index]}, is {truth[index]}"
        axis.set_title(title, color="tab:green" if right else "tab:red", fontsize=9)
        axis.axis("off")
    wrong = int((answers != truth).sum())
    figure.suptitle(f"{wrong} of {len(truth)} held-out digits are wrong; they come first")
    figure.savefig(path, dpi=120, bbox_inches="tight")
    plt.close(figure)


def check():
    """Reload the checkpoint and measure again; the accuracy must be the same to the last digit."""
    checkpoint = torch.load(OUTPUT / "mnist.flow")
    model = Net()
    model.load_state_dict(checkpoint["model"])
    _, held_out = load_digits()
    again = accuracy(model, *held_out)
    print(f"reloaded in a new process: {again!r}, saved: {checkpoint['accuracy']!r}")
    if again != checkpoint["accuracy"]:
        sys.exit("the reloaded model does not reproduce the saved accuracy")


def main():
    """Train, then check the checkpoint in a new process."""
    parser = make_parser(__doc__)
    parser.add_argument("--epochs", type=int, default=12, help="passes over the training images")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and of the order")
    parser.add_argument("--check", action="store_true", help="only measure the checkpoint again")
    options = parser.parse_args()
    if options.check:
        check()
        return
    result = train(options)
    print(f"held-out accuracy {result:.4f} (goal {GOAL}); pictures and checkpoint in {OUTPUT}")
    subprocess.run([sys.executable, __file__, "--check"], check=True)
    if result < GOAL:
        sys.exit(f"accuracy {result:.4f} is below the goal {GOAL}")


if __name__ == "__main__":
    run(main)
