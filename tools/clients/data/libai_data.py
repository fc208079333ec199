"""Synthetic data for LiBai: vocabularies, indexed data sets, images, and sentences.

Its configurations are linked into its package, where its `setup.py` puts them.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from libai.data.data_utils.indexed_dataset import make_builder  # pyright: ignore[reportMissingImports]
from PIL import Image

import oneflow as flow

ROOT = Path("data_test")
CORPUS = "loss_compara_content_sentence"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
random = np.random.default_rng(0)


def write_vocabularies() -> None:
    """Write those of GPT-2 and BERT: letters, special words and 400 words of four letters."""
    words = ["".join(random.choice(list(LETTERS), 4)) for _ in range(400)]
    characters = [*map(chr, range(33, 127)), "\u0120"]
    gpt = dict.fromkeys([*characters, *words, "<|endoftext|>"])
    numbers = {word: number for number, word in enumerate(gpt)}
    (ROOT / "gpt_data/gpt2-vocab.json").write_text(json.dumps(numbers))
    (ROOT / "gpt_data/gpt2-merges.txt").write_text("#version: 0.2\na b\n")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    bert = dict.fromkeys([*special, *LETTERS, *words])
    (ROOT / "bert_data/bert-base-chinese-vocab.txt").write_text("\n".join(bert))


def write_corpus(folder: Path) -> None:
    """Write 200 documents of a few sentences, in which each word says what the next one is."""
    builder = make_builder(f"{folder / CORPUS}.bin", "mmap", vocab_size=400)
    for _ in range(200):
        for _ in range(random.integers(3, 8)):
            sentence = [int(random.integers(10, 400))]
            for _ in range(random.integers(6, 30)):
                sentence.append((sentence[-1] * 7 + 3) % 390 + 8)
            builder.add_item(flow.IntTensor(sentence))
        builder.end_document()
    builder.finalize(f"{folder / CORPUS}.idx")


def write_images(folder: Path, number: int) -> None:
    """Write `number` images of each of four classes, which differ in brightness."""
    for label in range(4):
        of_class = folder / f"class{label}"
        of_class.mkdir(parents=True)
        for index in range(number):
            colour = random.integers(0, 100, 3) + 25 * label
            pixels = np.clip(colour + random.integers(0, 55, (48, 48, 3)), 0, 255)
            Image.fromarray(pixels.astype(np.uint8)).save(of_class / f"{index}.png")


def write_instructions(folder: Path) -> None:
    """Write samples for Llama, in which each word says what the next one is."""
    folder.mkdir(parents=True)
    for name, number in (("train", 96), ("test", 8)):
        samples = []
        for _ in range(number):
            words = [int(random.integers(3, 90))]
            while len(words) < 17:
                words.append((words[-1] * 7 + 3) % 88 + 3)
            pair = {"input_ids": flow.tensor(words[:-1]), "labels": flow.tensor(words[1:])}
            samples.append(pair)
        flow.save(samples, folder / name)


def write_sentences(folder: Path) -> None:
    """Write samples for SimCSE: triples of sentences, and pairs with a degree of likeness."""
    vocabulary = (ROOT / "bert_data/bert-base-chinese-vocab.txt").read_text().split()

    def sentence() -> str:
        return " ".join(random.choice(vocabulary[40:], random.integers(4, 12)))

    folder.mkdir(parents=True)
    kinds = ("origin", "entailment", "contradiction")
    triples = [{kind: sentence() for kind in kinds} for _ in range(96)]
    (folder / "snli.txt").write_text("\n".join(map(json.dumps, triples)))
    pairs = [f"{number}||{sentence()}||{sentence()}||{number % 6}" for number in range(16)]
    (folder / "sts.txt").write_text("\n".join(pairs) + "\n")


Path("libai/config/configs").symlink_to("../../configs")
for name in ("gpt_data", "bert_data"):
    (ROOT / name).mkdir(parents=True)
write_vocabularies()
for name in ("gpt_data", "bert_data"):
    write_corpus(ROOT / name)
write_images(ROOT / "imagenet/train", 24)
write_images(ROOT / "imagenet/val", 4)
write_instructions(ROOT / "alpaca")
write_sentences(ROOT / "simcse")
