"""ResNet-50 as a job function of OneFlow 0.3, beside flowvision's.

Both train on the same random images from the same variables, and give the same losses.

    python examples/legacy/resnet50.py --steps 20 --image 64
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import oneflow as flow
import oneflow.typing as tp
from flowvision.models.resnet import Bottleneck, ResNet
from oneflow import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from command_line import make_parser, run
from twins import give_variables, losses_of, print_losses

LEARNING_RATE, MOMENTUM = 0.01, 0.9


@dataclass(frozen=True)
class Size:
    """Sizes of the network and of its batches.

    Attributes:
        blocks: of each of the four stages.
        classes: number of classes.
        image: height and width of images.
        batch: images of a batch.
    """

    blocks: tuple[int, ...] = (3, 4, 6, 3)
    classes: int = 1000
    image: int = 224
    batch: int = 8


def conv_norm(x, filters, kernel_size, strides, conv_name, norm_name):
    """Return a convolution without bias, normalised over the batch."""
    x = flow.layers.conv2d(
        x, filters, kernel_size, strides, padding=[0, 0, kernel_size // 2, kernel_size // 2],
        use_bias=False, kernel_initializer=flow.variance_scaling_initializer(), name=conv_name,
    )  # fmt: skip
    return flow.layers.batch_normalization(x, axis=1, momentum=0.9, epsilon=1e-5, name=norm_name)


def bottleneck(x, filters, strides, name):
    """Return a block of three convolutions and its shortcut."""
    y = flow.nn.relu(conv_norm(x, filters, 1, 1, f"{name}-conv1", f"{name}-bn1"))
    y = flow.nn.relu(conv_norm(y, filters, 3, strides, f"{name}-conv2", f"{name}-bn2"))
    y = conv_norm(y, 4 * filters, 1, 1, f"{name}-conv3", f"{name}-bn3")
    if strides != 1 or x.shape[1] != 4 * filters:
        names = f"{name}-downsample-0", f"{name}-downsample-1"
        x = conv_norm(x, 4 * filters, 1, strides, *names)
    return flow.nn.relu(x + y)


def resnet(images, size):
    """Return the logits of a batch of images, float32 [N, 3, H, W]."""
    x = flow.nn.relu(conv_norm(images, 64, 7, 2, "conv1", "bn1"))
    x = flow.nn.max_pool2d(x, ksize=3, strides=2, padding=[[0, 0], [0, 0], [1, 1], [1, 1]])
    for stage, blocks in enumerate(size.blocks):
        for block in range(blocks):
            strides = 2 if stage > 0 and block == 0 else 1
            x = bottleneck(x, 64 * 2**stage, strides, f"layer{stage + 1}-{block}")
    x = flow.math.reduce_mean(x, axis=[2, 3])
    initializer = flow.random_normal_initializer(stddev=0.01)
    return flow.layers.dense(x, size.classes, kernel_initializer=initializer, name="fc")


def make_job(size):
    """Return the training job."""

    @flow.global_function(type="train")
    def train_job(
        images: tp.Numpy.Placeholder((size.batch, 3, size.image, size.image), dtype=flow.float),
        labels: tp.Numpy.Placeholder((size.batch,), dtype=flow.int32),
    ) -> tp.Numpy:
        logits = resnet(images, size)
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        schedule = flow.optimizer.PiecewiseConstantScheduler([], [LEARNING_RATE])
        flow.optimizer.SGD(schedule, momentum=MOMENTUM).minimize(loss)
        return loss

    return train_job


class TrainGraph(nn.Graph):
    """A training step of today."""

    def __init__(self, size):
        super().__init__()
        self.model = ResNet(Bottleneck, size.blocks, num_classes=size.classes)
        give_variables(self.model)
        optimizer = flow.optim.SGD(self.model.parameters(), LEARNING_RATE, momentum=MOMENTUM)
        self.add_optimizer(optimizer)

    def build(self, images, labels):
        """Return the mean loss of a batch."""
        loss = nn.functional.cross_entropy(self.model(images), labels)
        loss.backward()
        return loss


def train(size, steps):
    """Return the losses of each step, of the job and of the graph."""
    flow.manual_seed(0)
    rng = np.random.default_rng(0)
    shape = size.batch, 3, size.image, size.image
    batch = {
        "images": rng.standard_normal(shape, np.float32),
        "labels": rng.integers(0, size.classes, size.batch).astype(np.int32),
    }
    job = make_job(size)
    return losses_of(job, TrainGraph(size), [batch] * steps)


def main():
    """Train both and print their losses."""
    parser = make_parser(__doc__)
    parser.add_argument("--steps", type=int, default=20, help="steps of both")
    parser.add_argument("--image", type=int, default=64, help="height and width of images")
    parser.add_argument("--batch", type=int, default=8, help="images of a batch")
    options = parser.parse_args()
    print_losses(train(Size(image=options.image, batch=options.batch), options.steps))


if __name__ == "__main__":
    run(main)
