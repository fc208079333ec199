"""Synthetic data for OneFlow-Benchmark: OFRecord files of masked sentences for BERT."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import oneflow as flow

LENGTH, MASKED, WORDS = 16, 4, 90


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


write_masked_sentences(Path("made/bert"))
