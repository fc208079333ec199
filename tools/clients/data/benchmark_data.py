"""Synthetic data for OneFlow-Benchmark: an OFRecord file of masked sentences for BERT."""

from __future__ import annotations

from pathlib import Path

from sentences import write_masked_sentences

write_masked_sentences(Path("made/bert"))
