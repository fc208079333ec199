"""The sequences that are continued together, a token each with every run."""

from __future__ import annotations

import numpy as np

from oneflow.serving.generated_sequence import GeneratedSequence
from oneflow.serving.generator_graph import GeneratorGraph, SequenceState

# Runs with free places after which fewer places are enough: changing their number copies the state.
_PATIENCE = 16


class RunningBatch:
    """Places for sequences, and the state of the graph for them.

    With few of them the programs for fewer places, and of less capacity, run.

    Args:
        graph: the graph.
    """

    def __init__(self, graph: GeneratorGraph) -> None:
        self._graph = graph
        self.clear()

    def clear(self) -> None:
        """Forget all sequences."""
        self._state = self._graph.empty(self._graph.places_for(1), self._graph.capacity_for(1))
        self._sequences: list[GeneratedSequence | None] = [None] * self._state.places
        self._unneeded_runs = 0

    @property
    def sequences(self) -> list[GeneratedSequence]:
        """The sequences that have a place in the batch."""
        return [sequence for sequence in self._sequences if sequence is not None]

    def resize(self, added: int, position: int = 0) -> None:
        """Have enough places, and a capacity that is enough, before the next run.

        Args:
            added: the number of sequences that are about to join.
            position: the largest position of theirs.
        """
        present = self.sequences
        position = max([position, *(sequence.position for sequence in present)])
        places = self._graph.places_for(len(present) + added)
        capacity = self._graph.capacity_for(position + 1)
        state = self._state
        self._unneeded_runs = self._unneeded_runs + 1 if places < state.places else 0
        has_space = places <= state.places and capacity <= state.capacity
        if has_space and present and self._unneeded_runs < _PATIENCE:
            return
        if (places, capacity) == (state.places, state.capacity):
            return
        if present:
            capacity = max(capacity, state.capacity if places >= state.places else 0)
        used = [place for place, sequence in enumerate(self._sequences) if sequence is not None]
        self._state = self._graph.rearrange(state, used, places, capacity)
        self._sequences = [*present, *[None] * (places - len(present))]
        self._unneeded_runs = 0

    def join(
        self, sequence: GeneratedSequence, state: SequenceState | None = None, row: int = 0
    ) -> None:
        """Give a free place to a sequence.

        Args:
            sequence: the sequence.
            state: where its tokens have been read, if they have.
            row: its place there.
        """
        place = self._sequences.index(None)
        if state is not None:
            self._graph.move(state, row, self._state, place)
        self._sequences[place] = sequence

    def leave(self, sequence: GeneratedSequence) -> None:
        """Free the place of a sequence, if it has one."""
        self._sequences = [None if running is sequence else running for running in self._sequences]

    def advance(self) -> list[tuple[GeneratedSequence, np.ndarray]]:
        """Let the graph see the next token of each sequence.

        Returns:
            The sequences with the logits that follow.
        """
        logits = self._graph.advance(
            self._state,
            [0 if running is None else running.next_token for running in self._sequences],
            [0 if running is None else running.position for running in self._sequences],
        )
        results = []
        for place, sequence in enumerate(self._sequences):
            if sequence is not None:
                sequence.position += 1
                results.append((sequence, logits[place]))
        return results
