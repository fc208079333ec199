"""Chunked prefill: prompts are read in chunks before their sequences join the running batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from oneflow.serving.generated_sequence import GeneratedSequence
from oneflow.serving.generator_graph import GeneratorGraph, SequenceState


class ReadPrompt(NamedTuple):
    """A sequence whose prompt the graph has seen.

    Attributes:
        sequence: the sequence.
        row: its place in the reader's state.
        logits: the logits of its next token.
    """

    sequence: GeneratedSequence
    row: int
    logits: np.ndarray


class PromptReader:
    """Reads the prompts of some sequences together.

    Args:
        graph: the graph.

    Attributes:
        state: the state after the tokens that it has read.
    """

    def __init__(self, graph: GeneratorGraph) -> None:
        self._graph = graph
        self.clear()

    def clear(self) -> None:
        """Forget all sequences."""
        self.state: SequenceState | None = None
        self._sequences: list[GeneratedSequence | None] = []
        self._position = 0  # the same of all: they begin together

    @property
    def sequences(self) -> list[GeneratedSequence]:
        """The sequences whose prompts are being read."""
        return [sequence for sequence in self._sequences if sequence is not None]

    def begin(self, sequences: Sequence[GeneratedSequence]) -> None:
        """Take sequences, not more than the graph reads together, when there are none."""
        graph = self._graph
        places = graph.prompt_places_for(len(sequences))
        self._sequences = [*sequences, *[None] * (places - len(sequences))]
        self._position = 0
        longest = max(len(sequence.request.tokens) for sequence in sequences)
        capacity = graph.capacity_for(graph.padded_length(longest))
        state = self.state
        if state is None or (state.places, state.capacity) != (places, capacity):
            self.state = graph.empty(places, capacity)

    def drop(self, sequences: Iterable[GeneratedSequence]) -> None:
        """Read on without some of the sequences."""
        removed = set(map(id, sequences))
        self._sequences = [
            None if id(sequence) in removed else sequence for sequence in self._sequences
        ]

    def advance(self) -> list[ReadPrompt]:
        """Read a chunk of each prompt.

        Returns:
            The sequences whose prompts end in it; `drop` them before the next chunk.
        """
        assert self.state is not None
        position = self._position
        token_lists = [[] if state is None else state.request.tokens for state in self._sequences]
        chunk = self._graph.chunk_for(max(map(len, token_lists)) - position)
        parts = [list(tokens[position : position + chunk]) for tokens in token_lists]
        logits = self._graph.read(
            self.state,
            [part + [0] * (chunk - len(part)) for part in parts],
            [position] * len(parts),
            [max(len(part), 1) for part in parts],
        )
        self._position += chunk
        read_prompts = []
        for row, sequence in enumerate(self._sequences):
            if sequence is None:
                continue
            sequence.position = min(self._position, len(token_lists[row]))
            if sequence.position == len(token_lists[row]):
                read_prompts.append(ReadPrompt(sequence, row, logits[row]))
        return read_prompts
