"""Losses of OneFlow's models beside their twins on PyTorch: equal weights, inputs and steps.

``models_twins.py NAME ...`` trains both for some steps. A twin is the model of the directory that
is written for PyTorch, or else the same file with PyTorch's names, as the repository's own
`scripts/compare_speed_with_pytorch.py` reads it. Dropout is off.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

import oneflow as flow

# Steps of training, and how far their losses may be apart, relative to their size.
STEPS = 3
TOLERANCE = 1e-5
random = np.random.default_rng(0)


def images(size: int = 64) -> tuple[np.ndarray, np.ndarray]:
    """A batch of images of noise, and their labels.

    In double precision: normalizing over few numbers enlarges what rounding does.
    """
    return random.standard_normal((2, 3, size, size)), random.integers(0, 10, 2)


def large_images() -> tuple[np.ndarray, np.ndarray]:
    """Images of the size that models with a fixed last pooling take."""
    return images(224)


def letters() -> tuple[np.ndarray, np.ndarray]:
    """A name as one-hot letters, and its language."""
    return np.eye(57, dtype=np.float32)[random.integers(0, 57, 6)][:, None], random.integers(
        0, 3, 1
    )


def words() -> tuple[np.ndarray, np.ndarray]:
    """Sentences as numbers of words; models learn to go on with them."""
    sentences = random.integers(0, 96, (4, 16))
    return sentences, sentences


def classify(library: Any, model: Any, inputs: Any, labels: Any) -> Any:
    """The loss of a classifier, whose other outputs are left out."""
    outputs = model(inputs)
    scores = outputs[0] if isinstance(outputs, tuple) else outputs
    return library.nn.functional.cross_entropy(scores, labels)


def read_letters(library: Any, model: Any, inputs: Any, labels: Any) -> Any:
    """The loss of a network that reads one letter after another."""
    hidden, scores = model.initHidden(), None
    for letter in inputs:
        scores, hidden = model(letter, hidden)
    return library.nn.functional.nll_loss(scores, labels)


def language(library: Any, model: Any, inputs: Any, labels: Any) -> Any:
    """The loss that a language model computes."""
    return model(inputs, labels=labels)[0]


@dataclass(frozen=True)
class Twin:
    """A model of the repository and its twin.

    Attributes:
        ours: its file and the function or class that makes it.
        theirs: those of the twin; left out, the same with PyTorch's names.
        make: the model, from what `ours` or `theirs` names and the file's folder.
        data: inputs and labels.
        loss: the loss, of the library, the model, inputs and labels.
        optimizer: the optimizer's name and its options.
    """

    ours: str
    theirs: str = ""
    make: Callable[[Any, Path], Any] = lambda build, folder: build()
    data: Callable[[], tuple[np.ndarray, np.ndarray]] = images
    loss: Callable[[Any, Any, Any, Any], Any] = classify
    optimizer: tuple[str, dict[str, Any]] = field(
        default_factory=lambda: ("SGD", {"lr": 1e-3, "momentum": 0.9})
    )


def small_gpt(build: Any, folder: Path) -> Any:
    """A GPT-2 of two layers, with the embedding as its last layer, as `train.py` makes it."""
    config = load(folder / "model_config.py").GPT2Config
    model = build(config(vocab_size=96, n_positions=32, n_ctx=32, n_embd=32, n_layer=2, n_head=4))
    model.lm_head.weight = model.transformer.wte.weight
    return model


IMAGE = "Vision/classification/image"
TWINS = {
    "LSTM of names": Twin(
        "NLP/rnn/models/lstm_oneflow.py:LSTM",
        "NLP/rnn/models/lstm_pytorch.py:LSTM_PYTORCH",
        lambda build, folder: build(57, 128, 3),
        letters,
        optimizer=("SGD", {"lr": 0.005}),
    ),
    "RNN of names": Twin(
        "NLP/rnn/models/rnn_model.py:RNN",
        "NLP/rnn/models/rnn_model_pytorch.py:RNN_PYTORCH",
        lambda build, folder: build(57, 128, 3),
        letters,
        read_letters,
        ("SGD", {"lr": 0.005}),
    ),
    "GPT-2": Twin(
        "NLP/GPT2/model.py:GPT2LMHeadModel",
        "NLP/GPT2/pt_model.py:GPT2LMHeadModel",
        small_gpt,
        words,
        language,
        ("Adam", {"lr": 3e-4, "betas": (0.98, 0.999), "weight_decay": 0.01}),
    ),
    "resnet50": Twin(
        f"{IMAGE}/resnet50/models/resnet50.py:resnet50",
        f"{IMAGE}/resnet50/models/pytorch_resnet50.py:resnet50",
        data=large_images,
    ),
    "alexnet": Twin(f"{IMAGE}/alexnet/model/alexnet.py:alexnet"),
    "mnasnet": Twin(f"{IMAGE}/mnasnet/model/mnasnet.py:mnasnet0_5"),
    "densenet": Twin(f"{IMAGE}/densenet/models/densenet.py:densenet121"),
    "ghostnet": Twin(f"{IMAGE}/ghostnet/models/ghostnet.py:ghostnet"),
    "mobilenetv2": Twin(f"{IMAGE}/mobilenetv2/models/mobilenetv2.py:mobilenet_v2"),
    "mobilenetv3": Twin(f"{IMAGE}/mobilenetv3/models/mobilenetv3.py:mobilenet_v3_small"),
    "repvgg": Twin(f"{IMAGE}/repvgg/models/repvgg.py:create_RepVGG_A0"),
    "resnext50": Twin(f"{IMAGE}/resnext50_32x4d/models/resnext50_32x4d.py:resnext50_32x4d"),
    "shufflenetv2": Twin(f"{IMAGE}/shufflenetv2/models/shufflenetv2.py:shufflenetv2_x0dot5"),
    "vgg": Twin(f"{IMAGE}/vgg/models/vgg.py:vgg16_bn"),
    "DLA": Twin(f"{IMAGE}/DLA/models/dla.py:dla34", data=large_images),
    "scnet": Twin(f"{IMAGE}/scnet/models/resnet50.py:resnet50", data=large_images),
    "ViT": Twin(
        f"{IMAGE}/ViT/model/vit.py:VisionTransformer",
        make=lambda build, folder: build(
            image_size=(64, 64), patch_size=(16, 16), emb_dim=32, mlp_dim=64, num_heads=4,
            num_layers=2, num_classes=10, attn_dropout_rate=0.0, dropout_rate=0.0,
        ),
    ),
}  # fmt: skip


def load(path: Path, with_torch: bool = False) -> Any:
    """The module of a file; with PyTorch's names in place of OneFlow's if asked."""
    name = f"{path.stem}_{'torch' if with_torch else 'oneflow'}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    text = path.read_text()
    if with_torch:
        text = re.sub(r"(?m)^(\s*(?:import|from) )oneflow", r"\1torch", text)
        text = text.replace(".zeros_()", ".zero_()")  # OneFlow has both
    sys.modules[name] = module
    exec(compile(text, str(path), "exec"), module.__dict__)
    return module


def build(reference: str, twin: Twin, with_torch: bool) -> Any:
    """The model of a reference ``file:name``, without dropout."""
    file, _, name = reference.partition(":")
    module = load(Path(file), with_torch)
    model = twin.make(getattr(module, name), Path(file).parent)
    for layer in model.modules():
        if "Dropout" in type(layer).__name__:
            layer.p = 0.0
    return model.train()


def losses(library: Any, twin: Twin, model: Any, inputs: Any, labels: Any) -> list[float]:
    """The losses of some steps."""
    name, options = twin.optimizer
    optimizer = getattr(library.optim, name)(model.parameters(), **options)
    values = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = twin.loss(library, model, library.tensor(inputs), library.tensor(labels))
        loss.backward()
        optimizer.step()
        values.append(loss.item())
    return values


def difference(name: str) -> float:
    """The largest relative difference of the losses of a model and its twin."""
    twin = TWINS[name]
    flow.manual_seed(0)
    ours = build(twin.ours, twin, False)
    theirs = build(twin.theirs or twin.ours, twin, True)
    theirs.load_state_dict(
        {key: torch.from_numpy(value.numpy().copy()) for key, value in ours.state_dict().items()}
    )
    data = twin.data()
    if data[0].dtype == np.float64:
        ours.double()
        theirs.double()
    first, second = losses(flow, twin, ours, *data), losses(torch, twin, theirs, *data)
    sys.stdout.write(f"{name}: {first}, on PyTorch {second}\n")
    return max(abs(a - b) / abs(b) for a, b in zip(first, second, strict=True))


def main(names: list[str]) -> int:
    """Return 1 if the losses of a model differ from those of its twin."""
    failed = 0
    for name in names or TWINS:
        value = difference(name)
        failed |= not value <= TOLERANCE
        sys.stdout.write(f"{name}: largest difference {value:.1e}\n")
        sys.stdout.flush()
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
