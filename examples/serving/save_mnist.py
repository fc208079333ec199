"""Save the network that `examples/mnist.py` trained as a model to serve.

    python examples/serving/save_mnist.py

It takes pixels from 0 to 255 and returns the probabilities of the digits. Called once with each
number of images that a run may have, it is saved with a program for each; the server computes any
number of images up to the largest with the next larger program.
"""

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from command_line import OUTPUT, make_parser, run
from mnist import Net
from tqdm import tqdm

import oneflow as flow
from oneflow import nn

CHECKPOINT = OUTPUT / "mnist.flow"
BATCH_SIZES = (1, 2, 4, 8, 16, 32)


class Classify(nn.Graph):
    """From images, uint8 [n, 1, 28, 28], to the probabilities of the digits."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def build(self, image):
        return {"probability": self.network(image.to(flow.float32) / 255).softmax(dim=1)}


def main():
    """Load the checkpoint, record a program for each batch size, save."""
    parser = make_parser(__doc__, "models")
    model = parser.parse_args().output / "mnist" / "1"
    if not CHECKPOINT.exists():
        sys.exit(f"there is no {CHECKPOINT}: train the network first, `make demo`")
    network = Net()
    network.load_state_dict(flow.load(CHECKPOINT)["model"])
    graph = Classify(network.eval())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is compiled again")  # it is meant to be
        for size in tqdm(BATCH_SIZES, unit="program"):
            graph(flow.zeros(size, 1, 28, 28, dtype=flow.uint8))
    graph.save(model)
    print(f"saved {model}")


if __name__ == "__main__":
    run(main)
