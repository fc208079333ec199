"""The models whose calls are recorded, with inputs of several sizes, on the device `meta`."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import timm
import torch
import torchvision
import transformers

IMAGE_SIZES = 32, 64, 128, 224
BATCH_SIZES = 1, 4, 32
SEQUENCE_LENGTHS = 16, 128, 1024
# Layers of one kind have the same shapes; two show what is between them.
_LAYERS = 2
_TOKENS = 30_000

_NAMES = tomllib.loads((Path(__file__).parent / "models.toml").read_text())


class Model(NamedTuple):
    """A model, and what it is called with.

    Attributes:
        name: its name, with the sizes of the input.
        make: makes the model.
        inputs: makes its positional and keyword arguments.
    """

    name: str
    make: Callable[[], torch.nn.Module]
    inputs: Callable[[], tuple[list[Any], dict[str, Any]]]


def _images(*shape: int) -> tuple[list[Any], dict[str, Any]]:
    return [torch.empty(shape)], {}


def _tokens(batch: int, length: int, *, decodes: bool) -> tuple[list[Any], dict[str, Any]]:
    tokens = torch.empty((batch, length), dtype=torch.int64)
    return [], {"input_ids": tokens, **({"decoder_input_ids": tokens} if decodes else {})}


def _text_model(config_class: str) -> torch.nn.Module:
    config = getattr(transformers, config_class)(vocab_size=_TOKENS)
    for name in ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers"):
        if hasattr(config, name):
            setattr(config, name, _LAYERS)
    return transformers.AutoModel.from_config(config)


def models() -> Iterator[Model]:
    """All models, each with all sizes of its input."""
    for batch in BATCH_SIZES:
        for size in IMAGE_SIZES:
            yield from _image_models(batch, size)
        for length in SEQUENCE_LENGTHS:
            for name in _NAMES["transformers"]:
                inputs = functools.partial(_tokens, batch, length, decodes=name == "T5Config")
                make = functools.partial(_text_model, name)
                yield Model(f"{name}-{batch}x{length}", make, inputs)


def _image_models(batch: int, size: int) -> Iterator[Model]:
    inputs = functools.partial(_images, batch, 3, size, size)
    create, get = timm.create_model, torchvision.models.get_model
    of_a_size = functools.partial(create, img_size=size)
    clips = functools.partial(_images, batch, 3, 8, size, size)
    kinds = (
        ("timm", create, inputs),
        ("timm_of_a_size", of_a_size, inputs),
        ("torchvision", functools.partial(get, weights=None), inputs),
        ("segmentation", functools.partial(get, weights=None, weights_backbone=None), inputs),
        ("video", functools.partial(get, weights=None), clips),
    )
    for kind, make, images in kinds:
        for name in _NAMES[kind]:
            yield Model(f"{name}-{batch}x{size}", functools.partial(make, name), images)
