"""Losses of OneFlow's models beside their twins on PyTorch: equal weights, inputs and steps.

``models_twins.py NAME ...`` trains both for some steps. A twin is the model of the directory that
is written for PyTorch, or else the same files with PyTorch's names, as the repository's own
`scripts/compare_speed_with_pytorch.py` reads them. Dropout is off.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import recommender_twins as recommenders
import torch
import twin_tasks as tasks
from twin_modules import load

import oneflow as flow

# Steps of training, and how far their losses may be apart, relative to their size.
STEPS = 3
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Twin:
    """A model of the repository and its twin.

    Attributes:
        folder: where its programs run.
        ours: the module and the function or class that makes it; several make a list of networks.
        theirs: those of the twin; left out, the same with PyTorch's names.
        make: the network, from what `ours` or `theirs` names, and the library.
        data: inputs and labels.
        loss: the loss, of the library, the model, inputs and labels.
        optimizer: the optimizer's name and its options.
    """

    folder: str
    ours: str
    theirs: str = ""
    make: Callable[[Any, Any], Any] = lambda build, library: build()
    data: Callable[[], tuple[np.ndarray, ...]] = tasks.images
    loss: Callable[..., Any] = tasks.classify
    optimizer: tuple[str, dict[str, Any]] = field(
        default_factory=lambda: ("SGD", {"lr": 1e-3, "momentum": 0.9})
    )


def each(*arguments: tuple[tuple, dict[str, Any]]) -> Callable[[Any, Any], Any]:
    """A function that makes a list of networks, each with arguments of its own."""

    def make(builds: Any, library: Any) -> Any:
        networks = [
            build(*positional, **named)
            for build, (positional, named) in zip(builds, arguments, strict=True)
        ]
        return library.nn.ModuleList(networks)

    return make


def small_gpt(builds: Any, library: Any) -> Any:
    """A GPT-2 of two layers, with the embedding as its last layer, as `train.py` makes it."""
    build, config = builds
    model = build(config(vocab_size=96, n_positions=32, n_ctx=32, n_embd=32, n_layer=2, n_head=4))
    model.lm_head.weight = model.transformer.wte.weight
    return model


def sincnet(builds: Any, library: Any) -> Any:
    """SincNet of two layers, under a linear one."""
    options = {
        "cnn_N_filt": [8, 6], "cnn_len_filt": [51, 5], "cnn_max_pool_len": [3, 3], "fs": 16000,
        "cnn_act": ["leaky_relu"] * 2, "cnn_drop": [0.0] * 2, "cnn_use_laynorm": [True] * 2,
        "cnn_use_batchnorm": [False] * 2, "cnn_use_laynorm_inp": True,
        "cnn_use_batchnorm_inp": False, "input_dim": 800,
    }  # fmt: skip
    filters = builds(options)
    for name in ("n_", "window_"):  # neither parameters nor buffers
        setattr(filters.conv[0], name, getattr(filters.conv[0], name).double())
    return library.nn.ModuleList([filters, library.nn.Linear(filters.out_dim, 10)])


def judge_of(**sizes: Any) -> Callable[[Any, Any], Any]:
    """A function that makes a model of sentences under a linear layer."""

    def make(build: Any, library: Any) -> Any:
        return library.nn.ModuleList([build(vocab_size=96, **sizes), library.nn.Linear(32, 2)])

    return make


IMAGE, GAN = "Vision/classification/image", "Vision/gan"
# Also where programs have RMSprop, whose `eps` OneFlow adds within the root and PyTorch outside.
ADAM = ("Adam", {"lr": 1e-3})
NONE: tuple[tuple, dict[str, Any]] = ((), {})
TWINS = {
    "LSTM of names": Twin(
        "NLP/rnn", "models.lstm_oneflow:LSTM", "models.lstm_pytorch:LSTM_PYTORCH",
        lambda build, library: build(57, 128, 3), tasks.letters, optimizer=("SGD", {"lr": 0.005}),
    ),
    "RNN of names": Twin(
        "NLP/rnn", "models.rnn_model:RNN", "models.rnn_model_pytorch:RNN_PYTORCH",
        lambda build, library: build(57, 128, 3), tasks.letters, tasks.read_letters, ("SGD",
        {"lr": 0.005}),
    ),
    "GPT-2": Twin(
        "NLP/GPT2", "model:GPT2LMHeadModel model_config:GPT2Config",
        "pt_model:GPT2LMHeadModel model_config:GPT2Config", small_gpt, tasks.words, tasks.language,
        ("Adam", {"lr": 3e-4, "betas": (0.98, 0.999), "weight_decay": 0.01}),
    ),
    "resnet50": Twin(
        f"{IMAGE}/resnet50", "models.resnet50:resnet50", "models.pytorch_resnet50:resnet50",
        data=tasks.large_images,
    ),
    "alexnet": Twin(f"{IMAGE}/alexnet", "model.alexnet:alexnet"),
    "mnasnet": Twin(f"{IMAGE}/mnasnet", "model.mnasnet:mnasnet0_5"),
    "densenet": Twin(f"{IMAGE}/densenet", "models.densenet:densenet121"),
    "ghostnet": Twin(f"{IMAGE}/ghostnet", "models.ghostnet:ghostnet"),
    "mobilenetv2": Twin(f"{IMAGE}/mobilenetv2", "models.mobilenetv2:mobilenet_v2"),
    "mobilenetv3": Twin(f"{IMAGE}/mobilenetv3", "models.mobilenetv3:mobilenet_v3_small"),
    "repvgg": Twin(f"{IMAGE}/repvgg", "models.repvgg:create_RepVGG_A0"),
    "resnext50": Twin(f"{IMAGE}/resnext50_32x4d", "models.resnext50_32x4d:resnext50_32x4d"),
    "shufflenetv2": Twin(f"{IMAGE}/shufflenetv2", "models.shufflenetv2:shufflenetv2_x0dot5"),
    "vgg": Twin(f"{IMAGE}/vgg", "models.vgg:vgg16_bn"),
    "inception_v3": Twin(
        f"{IMAGE}/inception_v3", "models.inceptionv3:inception_v3", data=tasks.huge_images
    ),
    "DLA": Twin(f"{IMAGE}/DLA", "models.dla:dla34", data=tasks.large_images),
    "scnet": Twin(f"{IMAGE}/scnet", "models.resnet50:resnet50", data=tasks.large_images),
    "ViT": Twin(
        f"{IMAGE}/ViT", "model.vit:VisionTransformer",
        make=lambda build, library: build(
            image_size=(64, 64), patch_size=(16, 16), emb_dim=32, mlp_dim=64, num_heads=4,
            num_layers=2, num_classes=10, attn_dropout_rate=0.0, dropout_rate=0.0,
        ),
    ),
    "swin_transformer": Twin(
        f"{IMAGE}/swin_transformer", "models.swin_transformer:SwinTransformer",
        make=lambda build, library: build(
            img_size=56, num_classes=10, embed_dim=16, depths=[2, 2], num_heads=[2, 4],
            drop_path_rate=0.0,
        ),
        data=lambda: tasks.images(56),
    ),
    "TSN": Twin(
        "Vision/classification/video/TSN", "tsn.models.TSN:TSN",
        make=lambda build, library: build(1, 0.0, 10, None), data=tasks.videos,
        loss=tasks.recognize,
    ),
    "U-Net": Twin(
        "Vision/segmentation/U-Net", "unet:UNet",
        make=lambda build, library: build(1, 1, bilinear=False), data=tasks.masked(1),
        loss=tasks.segment,
        optimizer=ADAM,
    ),
    "FODDet": Twin(
        "Vision/segmentation/FODDet", "model.UNet:UNet",
        make=lambda build, library: build(3, 1, bilinear=False), data=tasks.masked(),
        loss=tasks.segment_by_shares, optimizer=ADAM,
    ),
    "FaceSeg": Twin(
        "Vision/segmentation/FaceSeg", "models.LinkNet34:LinkNet34", data=tasks.masked(),
        loss=tasks.segment_by_overlap,
    ),
    "CSRNet": Twin(
        "Vision/detection/CSRNet", "model:CSRNet", make=lambda build, library: build(True),
        data=tasks.masked(share=8), loss=tasks.count, optimizer=("SGD", {"lr": 1e-5,
        "momentum": 0.95}),
    ),
    "DCGAN": Twin(
        f"{GAN}/DCGAN", "models:Generator models:Discriminator", make=each(NONE, NONE),
        data=tasks.pairs((4, 100), (4, 1, 28, 28)), loss=tasks.deceive, optimizer=ADAM,
    ),
    "SRGAN": Twin(
        f"{GAN}/SRGAN", "models.of_model:Generator models.of_model:Discriminator",
        make=each(((4,), {}), NONE), data=tasks.pairs((2, 3, 16, 16), (2, 3, 64, 64)),
        loss=tasks.deceive_in_patches, optimizer=ADAM,
    ),
    "CycleGAN": Twin(
        f"{GAN}/cycleGAN", "networks:ResnetGenerator networks:NLayerDiscriminator",
        make=each(((), {"n_blocks": 2, "ngf": 16}), ((), {"ndf": 16})),
        data=tasks.pairs((1, 3, 64, 64), (1, 3, 64, 64)), loss=tasks.deceive_in_patches,
        optimizer=ADAM,
    ),
    "pix2pix": Twin(
        f"{GAN}/pix2pix", "models.networks:Generator models.networks:Discriminator",
        make=each(NONE, NONE), data=tasks.pairs((2, 3, 256, 256), (2, 3, 256, 256)),
        loss=tasks.translate_images, optimizer=("Adam", {"lr": 2e-4, "betas": (0.5, 0.999)}),
    ),
    "knowledge distillation": Twin(
        "KnowledgeDistillation/KnowledgeDistillation", "model:TeacherNet model:StudentNet",
        make=each(NONE, NONE), data=tasks.digits, loss=tasks.distill, optimizer=ADAM,
    ),
    "SincNet": Twin(
        "Audio/SincNet", "model.SincNet:SincNet", make=sincnet, data=tasks.sounds(800),
        loss=tasks.name_speaker, optimizer=ADAM,
    ),
    "AM-MobileNet1D": Twin(
        "Audio/AM-MobileNet1D", "model.mobilenet1d:MobileNetV2 "
        "model.mobilenet1d:AdditiveMarginSoftmax",
        make=each((([10],), {}), NONE), data=tasks.sounds(800), loss=tasks.name_speaker_with_margin,
        optimizer=ADAM,
    ),
    "speech emotion": Twin(
        "Audio/Speech-Emotion-Analyzer", "models.lstm_ser:lstm_ser",
        make=lambda build, library: build(40, 16, 6, 4),
        data=lambda: (
            tasks.random.standard_normal((1, 4, 40)).astype(np.float32), tasks.random.integers(0,
            6, 4)
        ),
        optimizer=ADAM,
    ),
    "Wav2Letter": Twin(
        "Audio/Wav2Letter", "Wav2Letter.model:Wav2Letter",
        make=lambda build, library: build(13, 28),
        data=lambda: (tasks.random.standard_normal((2, 13, 250)), tasks.random.integers(1, 28, (2,
        5))),
        loss=tasks.transcribe, optimizer=ADAM,
    ),
    "seq2seq with attention": Twin(
        "NLP/seq2seq", "models.seq_seq_oneflow:EncoderRNN_oneflow "
        "models.seq_seq_oneflow:AttnDecoderRNN_oneflow",
        make=each(((50, 256), {}), ((256, 60), {})),
        data=lambda: (tasks.random.integers(2, 50, (6, 1)), tasks.random.integers(2, 60, (5, 1))),
        loss=tasks.translate, optimizer=("SGD", {"lr": 0.01}),
    ),
    "Transformer of odd numbers": Twin(
        "NLP/Transformer/odd_numbers", "model:TransformerModel",
        make=lambda build, library: build(96, 96, 16, 2, 1, 1, 16, 0.0),
        data=lambda: (tasks.random.integers(1, 96, (7, 4)), tasks.random.integers(1, 96, (6, 4))),
        loss=tasks.go_on, optimizer=ADAM,
    ),
    "CPT": Twin(
        "NLP/CPT", "models.CPT:CPT",
        make=judge_of(
            d_model=32, num_encoder_layers=2, num_decoder_layers=1, encoder_attn_heads=4,
            decoder_attn_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64,
            max_position_embeddings=32,
        ),
        data=tasks.labelled_words, loss=tasks.judge, optimizer=ADAM,
    ),
    "MetaKD": Twin(
        "KnowledgeDistillation/MetaKD", "bert:Bert",
        make=judge_of(
            hidden_size=32, num_layers=2, nheads=4, intermediate_size=64, attn_dropout=0.0,
            hidden_dropout=0.0,
        ),
        data=tasks.labelled_words, loss=tasks.judge, optimizer=ADAM,
    ),
    **{
        name: Twin(
            f"RecommenderSystems/{row.folder}", row.reference, make=row.make, data=row.data,
            loss=row.loss, optimizer=row.optimizer,
        )
        for name, row in recommenders.ROWS.items()
    },
}  # fmt: skip


def build(references: str, twin: Twin, library: Any) -> Any:
    """The model of some references ``module:name``, without dropout."""
    names = []
    for reference in references.split():
        module, _, name = reference.partition(":")
        names.append(getattr(load(twin.folder, module, library is torch), name))
    model = twin.make(names[0] if len(names) == 1 else names, library)
    for layer in model.modules():
        if "Dropout" in type(layer).__name__:
            layer.p = 0.0
    return model.train()


def losses(library: Any, twin: Twin, model: Any, arrays: tuple[np.ndarray, ...]) -> list[float]:
    """The losses of some steps."""
    name, options = twin.optimizer
    optimizer = getattr(library.optim, name)(model.parameters(), **options)
    optimizer = recommenders.with_tables(optimizer, model)
    values = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = twin.loss(library, model, *map(library.tensor, arrays))
        loss.backward()
        optimizer.step()
        values.append(loss.item())
    return values


def copy_state(ours: Any, theirs: Any) -> None:
    """Give a twin the numbers of our model."""
    if recommenders.copy_tables(ours, theirs):
        return
    numbers = {key: value.numpy().copy() for key, value in ours.state_dict().items()}
    theirs.load_state_dict({key: torch.from_numpy(value) for key, value in numbers.items()})


def difference(name: str) -> float:
    """The largest relative difference of the losses of a model and its twin."""
    twin = TWINS[name]
    flow.manual_seed(0)
    ours = build(twin.ours, twin, flow)
    theirs = build(twin.theirs or twin.ours, twin, torch)
    copy_state(ours, theirs)
    data = twin.data()
    if data[0].dtype == np.float64:
        ours.double()
        theirs.double()
    first, second = losses(flow, twin, ours, data), losses(torch, twin, theirs, data)
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
