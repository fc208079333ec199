"""Synthetic data for OneFlow-Benchmark: an OFRecord file of masked sentences for BERT."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from oneflow.core.record import record_pb2  # pyright: ignore[reportMissingImports]

FOLDER = Path("made/bert")
LENGTH, MASKED, WORDS = 16, 4, 90
random = np.random.default_rng(0)


def record_of_sentence(number: int) -> bytes:
    """The message of one sentence, with its length before it."""
    record = record_pb2.OFRecord()
    for name, values in {
        "input_ids": random.integers(0, WORDS, LENGTH),
        "input_mask": np.ones(LENGTH),
        "segment_ids": np.zeros(LENGTH),
        "masked_lm_ids": random.integers(0, WORDS, MASKED),
        "masked_lm_positions": random.integers(0, LENGTH, MASKED),
        "next_sentence_labels": [number % 2],
    }.items():
        record.feature[name].int32_list.value.extend(map(int, values))
    record.feature["masked_lm_weights"].float_list.value.extend([1.0] * MASKED)
    message = record.SerializeToString()
    return struct.pack("q", len(message)) + message


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "part-0").write_bytes(b"".join(map(record_of_sentence, range(16))))
