"""Synthetic data for OneFlow-Benchmark: masked sentences for BERT, and texts for GPT."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

import oneflow as flow

LENGTH, MASKED, WORDS = 16, 4, 90
TEXTS, WORDS_OF_TEXT = 20, 40


def integers(*values: int | np.ndarray) -> np.ndarray:
    """Numbers as the 32-bit integers that the programs read."""
    return np.asarray(values, np.int32).reshape(-1)


def write_masked_sentences(folder: Path) -> None:
    """Write four OFRecord files of 16 sentences of random words."""
    random = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    for part in range(4):
        with flow.data.OFRecordWriter(folder / f"part-{part}") as file:
            for number in range(16):
                sentence = {
                    "input_ids": integers(random.integers(0, WORDS, LENGTH)),
                    "input_mask": integers(np.ones(LENGTH)),
                    "segment_ids": integers(np.zeros(LENGTH)),
                    "masked_lm_ids": integers(random.integers(0, WORDS, MASKED)),
                    "masked_lm_positions": integers(random.integers(0, LENGTH, MASKED)),
                    "masked_lm_weights": np.ones(MASKED, np.float32),
                    "next_sentence_labels": integers(number % 2),
                }
                file.write(sentence)


def write_texts(folder: Path) -> None:
    """Write texts in which each word says what the next one is, as Megatron keeps them."""
    random = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    texts = np.empty((TEXTS, WORDS_OF_TEXT), np.uint16)
    texts[:, 0] = random.integers(0, WORDS, TEXTS)
    for place in range(1, WORDS_OF_TEXT):
        texts[:, place] = (texts[:, place - 1] * 7 + 3) % WORDS
    texts.tofile(folder / "texts.bin")
    with (folder / "texts.idx").open("wb") as file:  # version 1, of uint16
        file.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, TEXTS, TEXTS + 1))
        np.full(TEXTS, WORDS_OF_TEXT, np.int32).tofile(file)
        (np.arange(TEXTS) * texts[0].nbytes).tofile(file)
        np.arange(TEXTS + 1).tofile(file)


write_masked_sentences(Path("made/bert"))
write_texts(Path("made/gpt"))
