"""Synthetic data for OneFlow's models: pictures, texts, sounds and series of noise."""

from __future__ import annotations

import ast
import gzip
import io
import json
import re
import shutil
import struct
import wave
from pathlib import Path
from typing import Any

import h5py  # pyright: ignore[reportMissingImports]
import joblib  # pyright: ignore[reportMissingImports]
import numpy as np
from PIL import Image

import oneflow as flow

ROOT = Path("made")
random = np.random.default_rng(0)


def made(path: Path) -> Path:
    """A folder that is there."""
    path.mkdir(parents=True, exist_ok=True)
    return path


def image_of_noise(height: int, width: int) -> Image.Image:
    """A colored image of noise."""
    return Image.fromarray(random.integers(0, 255, (height, width, 3), dtype=np.uint8))


def write_images(folder: Path, number: int, height: int, width: int, kind: str = "png") -> None:
    """Write images of noise, called by their numbers."""
    for index in range(number):
        image_of_noise(height, width).save(made(folder) / f"{index}.{kind}")


def write_image_records() -> None:
    """Write eight images with labels for training, and as many for validation."""
    for name in ("train", "val"):
        folder = made(ROOT / "ofrecord" / name)
        with flow.data.OFRecordWriter(folder / "part-0") as file:
            for label in range(8):
                encoded = io.BytesIO()
                image_of_noise(256, 280).save(encoded, "JPEG")
                file.write({"encoded": encoded.getvalue(), "class/label": np.int32(label)})
        shutil.copy(folder / "part-0", folder / "part-00000")
    shutil.copytree(ROOT / "ofrecord/val", ROOT / "ofrecord/validation", dirs_exist_ok=True)


def write_digits(folder: Path, compress: bool) -> None:
    """Write images of digits as MNIST has them: 512 for training and 16 for testing."""
    for name, number in (("train", 512), ("t10k", 16)):
        pixels = random.integers(0, 255, (number, 28, 28), dtype=np.uint8)
        labels = random.integers(0, 10, number, dtype=np.uint8)
        for kind, array in (("images", pixels), ("labels", labels)):
            header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
            file = made(folder) / f"{name}-{kind}-idx{array.ndim}-ubyte"
            file.write_bytes(header + array.tobytes())
            if compress:
                file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))


def write_photographs() -> None:
    """Write images for generators, faces with masks, roads with labels, and crowds with heads."""
    for name in ("train", "val"):
        write_images(ROOT / "voc" / name, 4, 96, 96)
        write_images(Path("Vision/gan/pix2pix/data/facades") / name, 1, 256, 512)
    for name in ("summer", "winter"):
        write_images(ROOT / name, 2, 80, 80, "jpg")
    for name in ("train", "train_labels", "val", "valid_labels"):
        write_images(ROOT / "roads" / name, 2, 320, 320)
    faces = made(ROOT / "faces")
    np.save(faces / "img_train.npy", random.integers(0, 255, (4, 3, 64, 64), dtype=np.uint8))
    np.save(faces / "mask_train.npy", random.integers(0, 2, (4, 1, 64, 64), dtype=np.uint8))
    write_images(ROOT / "crowds/images", 2, 64, 64, "jpg")
    for number in range(2):
        with h5py.File(made(ROOT / "crowds/ground_truth") / f"{number}.h5", "w") as file:
            file["density"] = random.random((64, 64)).astype(np.float32)
    paths = [str((ROOT / f"crowds/images/{number}.jpg").absolute()) for number in range(2)]
    (ROOT / "crowds/list.json").write_text(json.dumps(paths))


def write_videos() -> None:
    """Write two videos as folders of images, and their list."""
    for name in ("train", "val"):
        lines = []
        for video in range(4):
            folder = made(ROOT / f"kinetics400/rawframes_{name}/{video}")
            for number in range(4):
                image_of_noise(256, 280).save(folder / f"img_{number + 1:05d}.jpg")
            lines.append(f"{video} 4 {video}")
        file = f"kinetics400_{name}_list_videos_sub_frames.txt"
        (ROOT / "kinetics400" / file).write_text("\n".join(lines))


def write_texts() -> None:
    """Write names of three languages, sentences in two, and a vocabulary with a corpus."""
    names = made(Path("NLP/rnn/data/names"))
    for language in ("Alpha", "Beta", "Gamma"):
        letters = random.integers(ord("a"), ord("z"), (8, 6))
        lines = ["".join(map(chr, row)) for row in letters]
        (names / f"{language}.txt").write_text("\n".join(lines))
    pairs = [f"i am {word} .\tje suis {word} ." for word in ("old", "young", "here", "there")]
    (made(Path("NLP/seq2seq/data")) / "eng-fra.txt").write_text("\n".join(pairs))
    folder = made(ROOT / "gpt2")
    characters = [*map(chr, range(33, 127)), "\u0120", "\u010a", "<|endoftext|>"]
    numbers = {character: number for number, character in enumerate(characters)}
    (folder / "vocab.json").write_text(json.dumps(numbers))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    (folder / "corpus").write_text("all work and no play " * 20)


def write_questions() -> None:
    """Write pairs of questions as numbers of words, alike or not, and the sizes of a small CPT."""
    folder = Path("NLP/CPT")
    for part in ("train", "eval"):
        rows = random.integers(3, 90, (8, 12)).tolist()
        pairs = [
            {"input_ids": row, "attention_mask": [1] * 9 + [0] * 3, "labels": [number % 2]}
            for number, row in enumerate(rows)
        ]
        (made(folder / "afqmc" / part) / f"{part}.json").write_text(json.dumps(pairs))
    sizes = {
        "d_model": 32,
        "vocab_size": 96,
        "num_encoder_layers": 2,
        "num_decoder_layers": 2,
        "encoder_attn_heads": 4,
        "decoder_attn_heads": 4,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "max_position_embeddings": 64,
    }
    (made(folder / "small") / "parameters.json").write_text(json.dumps(sizes))


def write_opinions() -> None:
    """Write opinions on goods of four kinds, and the vocabulary and sizes of two small BERTs."""
    folder = Path("KnowledgeDistillation/MetaKD")
    words = ["a", "fine", "dull", "book", "film", "phone", "pan", "of", "many"]
    for part in ("train", "dev"):
        lines = ["review\tdomain\tsentiment"]
        for number in range(16):
            kind = ("books", "dvd", "electronics", "kitchen")[number % 4]
            opinion = ("positive", "negative")[number // 4 % 2]
            lines.append(f"{' '.join(random.choice(words, 6))}\t{kind}\t{opinion}")
        (made(folder / "data/SENTI") / f"{part}.tsv").write_text("\n".join(lines) + "\n")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    for name, width, layers in (("bert-base-uncased", 768, 2), ("bert-tiny-uncased", 32, 1)):
        vocabulary = made(folder / name)
        (vocabulary / "vocab.txt").write_text("\n".join([*special, *words]) + "\n")
        (vocabulary / "config.json").write_text(json.dumps({"model_type": "bert"}))
        sizes = {
            "vocab_size": 16,
            "hidden_size": width,
            "intermediate_size": 64,
            "num_layers": layers,
            "nheads": 4,
            "attn_dropout": 0.1,
            "hidden_dropout": 0.1,
        }
        (made(folder / f"{name}-oneflow") / "parameters.json").write_text(json.dumps(sizes))


def write_reviews() -> None:
    """Write reviews of films, good and bad."""
    for part in ("train", "test"):
        for kind, words in (("pos", "a fine film"), ("neg", "a dull film")):
            for number in range(8):
                review = made(ROOT / "reviews" / part / kind) / f"{number}.txt"
                review.write_text(f"{words} , number {number} of many .")


def write_sounds() -> None:
    """Write sounds of two speakers with their list, spectra of words, and features of moods."""
    for client in ("SincNet", "AM-MobileNet1D"):
        folder = Path("Audio") / client
        lists, names = made(folder / "data_lists"), [f"speaker{number}.wav" for number in range(4)]
        for name in names:
            with wave.open(str(made(folder / "data_preprocessed") / name), "wb") as file:
                file.setparams((1, 2, 16000, 0, "NONE", ""))
                file.writeframes(random.integers(-9999, 9999, 8000, dtype=np.int16).tobytes())
        for part in ("train", "test", "train_upper", "test_upper"):
            (lists / f"TIMIT_{part}.scp").write_text("\n".join(names))
        labels = {name: number % 2 for number, name in enumerate(names)}
        np.save(lists / "TIMIT_labels.npy", np.array(labels, dtype=object))
    words = made(ROOT / "words")
    spectra, letters = random.standard_normal((1040, 225, 13)), random.integers(2, 20, (1040, 6))
    for name, array in (("x", spectra.astype(np.float32)), ("y", letters)):
        np.save(words / f"{name}.npy", array)
    moods = [(f"{n}.wav", random.standard_normal(40), n % 6) for n in range(80)]
    joblib.dump(moods, made(ROOT / "moods") / "features.p")


def write_series() -> None:
    """Write series of passengers at 221 stations."""
    series = random.random((10, 12, 221)).astype(np.float32)
    file = Path("Vision/LSTM/EnResLSTM/dataset.npz")
    np.savez(file, train_x=series, train_y=series, test_x=series)


# The recommenders read tables with petastorm, which reads Parquet with Spark's format; this one
# reads archives of NumPy.
PETASTORM = """
from collections import namedtuple

import numpy as np


class make_batch_reader:
    def __init__(self, urls, num_epochs=1, **options):
        self.files = [url.removeprefix("file://") for url in urls]
        self.epochs = num_epochs

    def __iter__(self):
        epoch = 0
        while self.epochs is None or epoch < self.epochs:
            for file in self.files:
                columns = dict(np.load(open(file, "rb")))
                yield namedtuple("Group", columns)(**columns)
            epoch += 1

    def stop(self):
        pass

    def join(self):
        pass
"""
ROWS = 64


def write_table(name: str, labels: list[str], dense: list[str], sparse: list[str]) -> None:
    """Write a table of noise with labels, numbers and categories, ten or twenty of each."""
    columns: dict[str, Any] = {}
    for label in labels:
        columns[label] = random.integers(0, 2, ROWS).astype(np.float32)
    for number in dense:
        columns[number] = random.random(ROWS, np.float32)
    for index, category in enumerate(sparse):
        columns[category] = random.integers(0, 10, ROWS) + 10 * index
    for part in ("train", "val", "test"):
        with (made(ROOT / name / part) / "part-0.parquet").open("wb") as file:
            np.savez(file, **columns)


def write_tables() -> None:
    """Write what recommenders read: clicks as Criteo has them, and a census."""
    (made(Path("petastorm")) / "reader.py").write_text(PETASTORM)
    dense, sparse = ([f"{kind}{i + 1}" for i in range(n)] for kind, n in (("I", 13), ("C", 26)))
    write_table("criteo", ["label", "Label"], dense, sparse)
    program = Path("RecommenderSystems/mmoe/mmoe_train_eval.py").read_text()
    dense, sparse = (
        ast.literal_eval(re.findall(rf"{kind}_features = (\[.*?\])", program, re.DOTALL)[0])
        for kind in ("dense", "sparse")
    )
    write_table("census", ["label_income", "label_marital"], dense, sparse)


if __name__ == "__main__":
    write_tables()
    write_image_records()
    write_digits(ROOT / "mnist", compress=False)
    write_digits(Path("KnowledgeDistillation/KnowledgeDistillation/MNIST/raw"), compress=True)
    write_photographs()
    write_videos()
    for kind in ("image", "label"):
        write_images(Path(f"Vision/segmentation/U-Net/train_{kind}"), 2, 64, 64)
    write_texts()
    write_questions()
    write_opinions()
    write_reviews()
    write_sounds()
    write_series()
