"""Train a network to paint photos in the style of a picture, and paint one.

    python examples/vision/style.py PHOTO PICTURE --steps 300

The network learns from pieces of the photo: what it paints should look like the photo to the deep
layers of a classifier, and have the textures of the picture in all its layers (Johnson et al.,
https://arxiv.org/abs/1603.08155). Written to the output folder: the painted photo, the weights, and
the losses as a plot.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from tqdm import trange

import oneflow as flow
from flowvision.models import ModelCreator, fast_neural_style
from oneflow import nn
from oneflow.nn import functional as F

OUTPUT = Path(__file__).parent / "output" / "style"
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
# The layers of a classifier whose textures count, by model; the last but one also compares content.
LAYERS = {"squeezenet1_1": (1, 4, 7, 12), "vgg16": (3, 8, 15, 22)}


class Perception(nn.Module):
    """The results of some layers of a classifier for pictures (N, 3, H, W) in [0, 255]."""

    def __init__(self, name, weights):
        super().__init__()
        source = {"published": True, "random": False}.get(weights, weights)
        self.features = ModelCreator.create_model(name, pretrained=source).features.eval()
        self.features.requires_grad_(False)
        self.layers = LAYERS[name]
        self.register_buffer("mean", flow.tensor(MEAN).reshape(1, 3, 1, 1))
        self.register_buffer("std", flow.tensor(STD).reshape(1, 3, 1, 1))

    def forward(self, pictures):
        x = (pictures / 255 - self.mean) / self.std
        results = []
        for number, layer in enumerate(self.features[: self.layers[-1] + 1]):
            x = layer(x)
            if number in self.layers:
                results.append(x)
        return results


def textures(features):
    """The products of all pairs of channels, averaged over the picture: (N, C, C)."""
    flat = features.flatten(2)
    return flow.matmul(flat, flat.transpose(1, 2)) / flat.shape[2]


def read_picture(path, longest):
    """An image file as float32 (1, 3, H, W) in [0, 255], of at most so many pixels a side."""
    picture = Image.open(path).convert("RGB")
    picture.thumbnail((longest, longest))
    return flow.tensor(np.asarray(picture, np.float32).transpose(2, 0, 1)[None].copy())


def pieces(photo, count, size, random):
    """Random squares of a photo, (count, 3, size, size)."""
    _, _, height, width = photo.shape
    corners = zip(
        random.integers(0, height - size + 1, count),
        random.integers(0, width - size + 1, count),
        strict=True,
    )
    return flow.cat([photo[..., top : top + size, left : left + size] for top, left in corners])


def train(model, perception, photo, picture, options):
    """Train on pieces of the photo; returns the losses of each step: content and style."""
    random = np.random.default_rng(options.seed)
    size = min(options.size, *photo.shape[2:])
    with flow.no_grad():
        wanted = [textures(features) for features in perception(picture)]
    # Layers count alike, however large their numbers are.
    scales = [tensor.square().mean() for tensor in wanted]
    optimizer = flow.optim.Adam(model.parameters(), lr=options.lr)
    losses = []
    progress = trange(options.steps, desc="training", unit="step")
    try:
        for _ in progress:
            batch = pieces(photo, options.batch, size, random)
            painted = model.generate(batch)
            seen, original = perception(painted), perception(batch)
            content = F.mse_loss(seen[-2], original[-2]) / original[-2].square().mean()
            style = flow.stack(
                [
                    (textures(features) - goal).square().mean() / scale
                    for features, goal, scale in zip(seen, wanted, scales, strict=True)
                ]
            ).mean()
            optimizer.zero_grad()
            (content + options.style_weight * style).backward()
            optimizer.step()
            losses.append((content.item(), style.item()))
            progress.set_postfix(content=f"{losses[-1][0]:.3f}", style=f"{losses[-1][1]:.3f}")
    except KeyboardInterrupt:
        progress.close()
        print(f"stopped after {len(losses)} steps; writing what was learned")
    return losses


def write_results(folder, model, photo, losses):
    """Write the painted photo, the weights and the losses."""
    folder.mkdir(parents=True, exist_ok=True)
    with flow.no_grad():
        painted = model.eval()(photo)[0].permute(1, 2, 0).numpy()
    Image.fromarray(painted.round().astype(np.uint8)).save(folder / "painted.png")
    flow.save(model.state_dict(), folder / "style.pth")
    figure, axes = plt.subplots(figsize=(6, 4))
    for name, values in zip(("content", "style"), zip(*losses, strict=True), strict=False):
        axes.plot(values, label=name)
    axes.set(xlabel="step", ylabel="loss", yscale="log")
    if losses:
        axes.legend()
    figure.savefig(folder / "losses.png")
    plt.close(figure)


def parse(arguments=None):
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photo", type=Path, help="what to paint")
    parser.add_argument("picture", type=Path, help="whose style to paint in")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--size", type=int, default=96, help="pixels a side of a piece")
    parser.add_argument("--longest", type=int, default=384, help="pixels of the longer side")
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--style-weight", type=float, default=1.0, help="beside content's 1")
    parser.add_argument("--classifier", choices=sorted(LAYERS), default="squeezenet1_1")
    parser.add_argument(
        "--weights",
        default="published",
        help="of the classifier: 'published' (downloaded once), the path of a file, or 'random', "
        "which knows textures but no objects",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args(arguments)
    for path in (options.photo, options.picture):
        if not path.is_file():
            parser.error(f"there is no file {path}")
    return options


def main():
    """Train, paint, and write everything."""
    options = parse()
    flow.manual_seed(options.seed)
    photo = read_picture(options.photo, options.longest)
    picture = read_picture(options.picture, options.longest)
    perception = Perception(options.classifier, options.weights)
    model = fast_neural_style().train()
    losses = train(model, perception, photo, picture, options)
    write_results(options.output, model, photo, losses)
    print(f"painted.png, style.pth and losses.png are in {options.output}")


if __name__ == "__main__":
    main()
