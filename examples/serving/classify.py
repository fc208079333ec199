"""Ask a server which digits it sees.

    python examples/serving/classify.py --protocol grpc

Sends held-out images of MNIST, or files of images that are given (white on black, any size).
"""

import importlib
import sys
from pathlib import Path

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from command_line import make_parser, run
from digits import read_digits

PORTS = {"http": 8000, "grpc": 8001}


def read_images(files):
    """The images, uint8 [n, 1, 28, 28], with the digits in them if these are known."""
    if not files:
        pixels, digits = read_digits()
        return pixels[-8:, None].astype(np.uint8), digits[-8:].tolist()
    pictures = [Image.open(file).convert("L").resize((28, 28)) for file in files]
    return np.stack([np.asarray(picture) for picture in pictures])[:, None], None


def classify(images, protocol, address):
    """The probabilities of the digits of each image."""
    module = importlib.import_module(f"tritonclient.{protocol}")
    with module.InferenceServerClient(address) as client:
        tensor = module.InferInput("image", list(images.shape), "UINT8")
        tensor.set_data_from_numpy(images)
        return client.infer("mnist", [tensor]).as_numpy("probability")


def main():
    """Print the most likely digit of each image."""
    parser = make_parser(__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="images; held-out digits if none")
    parser.add_argument("--protocol", choices=PORTS, default="http", help="to ask with")
    parser.add_argument("--address", help="host and port of the server: 127.0.0.1, 8000 or 8001")
    options = parser.parse_args()
    images, digits = read_images(options.files)
    address = options.address or f"127.0.0.1:{PORTS[options.protocol]}"
    found = classify(images, options.protocol, address)
    for index, row in enumerate(found):
        truth = "" if digits is None else f", is {digits[index]}"
        print(f"image {index}: {row.argmax()} ({row.max():.1%}){truth}")


if __name__ == "__main__":
    run(main)
