"""LeNet on real handwritten digits, written as a job function of OneFlow 0.3.

The data are 5,000 images of MNIST (see `../digits.py`): 4,000 to train on, 1,000 held out. The
snapshot that is written can be loaded into a module of today, which is shown at the end.

    python examples/legacy/lenet.py --epochs 12
"""

import shutil
import sys
from pathlib import Path

import numpy as np
from tqdm import tqdm

import oneflow as flow
import oneflow.typing as tp
from oneflow import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from command_line import make_parser, run
from digits import read_digits

BATCH_SIZE = 100


def lenet(images, dropout=0.0):
    """Return the logits of a batch of images, float32 [N, 1, 28, 28]."""
    initializer = flow.truncated_normal(0.1)
    conv = flow.layers.conv2d(
        images, 32, 5, padding="SAME", activation=flow.nn.relu, name="conv1",
        kernel_initializer=initializer,
    )  # fmt: skip
    pool = flow.nn.max_pool2d(conv, ksize=2, strides=2, padding="SAME", name="pool1")
    conv = flow.layers.conv2d(
        pool, 64, 5, padding="SAME", activation=flow.nn.relu, name="conv2",
        kernel_initializer=initializer,
    )  # fmt: skip
    pool = flow.nn.max_pool2d(conv, ksize=2, strides=2, padding="SAME", name="pool2")
    flat = flow.reshape(pool, [pool.shape[0], -1])
    hidden = flow.layers.dense(
        flat, 128, activation=flow.nn.relu, kernel_initializer=initializer, name="hidden"
    )
    hidden = flow.nn.dropout(hidden, rate=dropout)
    return flow.layers.dense(hidden, 10, kernel_initializer=initializer, name="logits")


@flow.global_function(type="train")
def train_job(
    images: tp.Numpy.Placeholder((BATCH_SIZE, 1, 28, 28), dtype=flow.float),
    labels: tp.Numpy.Placeholder((BATCH_SIZE,), dtype=flow.int32),
) -> tp.Numpy:
    """One step; the losses of the images."""
    logits = lenet(images, dropout=0.4)
    loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    schedule = flow.optimizer.CosineScheduler(0.05, steps=400, alpha=0.05)
    flow.optimizer.SGD(schedule, momentum=0.9).minimize(loss)
    return loss


@flow.global_function(type="predict")
def predict_job(
    images: tp.Numpy.Placeholder((BATCH_SIZE, 1, 28, 28), dtype=flow.float),
) -> tp.Numpy:
    """The logits of a batch, with the variables that the training job has learned."""
    return lenet(images)


def shifted(images, order):
    """Return the images moved by up to two pixels in both directions."""
    rows, columns = order.integers(-2, 3, 2)
    return np.roll(images, (rows, columns), (2, 3))


def predict(images):
    """Return the most likely digit of each image."""
    batches = np.split(images, len(images) // BATCH_SIZE)
    return np.concatenate([predict_job(batch).argmax(1) for batch in batches])


class LeNet(nn.Module):
    """The same network as a module of today."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 5, padding=2)
        self.conv2 = nn.Conv2d(32, 64, 5, padding=2)
        self.hidden = nn.Linear(64 * 7 * 7, 128)
        self.logits = nn.Linear(128, 10)

    def forward(self, x):
        x = nn.functional.max_pool2d(self.conv1(x).relu(), 2)
        x = nn.functional.max_pool2d(self.conv2(x).relu(), 2)
        return self.logits(self.hidden(x.flatten(1)).relu())


def load_into_module(folder):
    """Return a module with the variables of a snapshot: `conv1-weight` is `conv1.weight`."""
    module = LeNet()
    module.load_state_dict({name.replace("-", "."): v for name, v in flow.load(folder).items()})
    return module.eval()


def main():
    """Train, save, load into a module, and say how many held-out digits each finds."""
    parser = make_parser(__doc__, "legacy_lenet")
    parser.add_argument("--epochs", type=int, default=12, help="passes over the training images")
    options = parser.parse_args()

    flow.manual_seed(0)
    pixels, digits = read_digits()
    images = pixels[:, None].astype(np.float32) / 255
    labels = digits.astype(np.int32)
    order = np.random.default_rng(0)
    with tqdm(total=options.epochs * 40, unit="step") as progress:
        for _ in range(options.epochs):
            for batch in order.permutation(4000).reshape(-1, BATCH_SIZE):
                loss = train_job(shifted(images[batch], order), labels[batch]).mean()
                progress.set_postfix(loss=f"{loss:.3f}")
                progress.update()
    held_out, answers = images[-1000:], labels[-1000:]
    found = predict(held_out)
    print(f"held-out accuracy: {(found == answers).mean():.1%}")

    shutil.rmtree(options.output, ignore_errors=True)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    flow.train.CheckPoint().save(options.output)
    module = load_into_module(options.output)
    with flow.no_grad():
        same = module(flow.tensor(held_out)).argmax(1).numpy() == found
    print(f"the module agrees on {same.mean():.1%} of them; variables are in {options.output}")


if __name__ == "__main__":
    run(main)
