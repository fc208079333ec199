"""A saved graph that computes one further token of each of several sequences.

Its `build` takes ``token`` and ``position``, int64 with a number for each sequence, and tensors of
state, such as the keys and values of the tokens before. It returns ``logits`` and the new state
under the names of the old one. A sequence must not read state that another one left at the same
place: attention masks the positions after its own.

Called with ``token`` as a matrix it reads a chunk of tokens of each sequence at once: ``position``
is that of the first, and ``count`` how many are tokens of the sequence, before padding; the logits
are those that follow the last of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from oneflow.base.spec import TensorSpec
from oneflow.functional.creation.from_data import from_numpy
from oneflow.graph.saved_graph import SavedGraph, SavedStep
from oneflow.runtime.eager import flush_all
from oneflow.serving.generator_programs import (
    COUNT,
    LOGITS,
    POSITION,
    TOKEN,
    ProgramSize,
    programs_by_size,
    state_of,
)
from oneflow.tensor.tensor import Tensor


@dataclass
class SequenceState:
    """The state of some sequences.

    Attributes:
        places: the number of sequences that it has a place for.
        capacity: the number of tokens that it holds of each.
        tensors: tensors by name; runs replace them.
    """

    places: int
    capacity: int
    tensors: dict[str, Tensor]


class GeneratorGraph:
    """The programs of a saved graph that generates.

    Args:
        path: the folder of the graph.
        max_length: the tokens that a sequence may have.

    Raises:
        ValueError: it is not such a graph; says why.

    Attributes:
        sequences: the largest number of sequences that it continues together.
        prompt_places: the largest number of which it reads chunks together; 0 if it cannot.
        vocabulary: the number of tokens that there are.
    """

    def __init__(self, path: Path, max_length: int) -> None:
        self._graph = SavedGraph(path)
        self._max_length = max_length
        self._steps = programs_by_size(self._graph.steps, max_length)
        for step in self._steps.values():
            step.donate(state_of(step))
        self._places = _values(size.places for size in self._steps if not size.chunk)
        self._prompt_places = _values(size.places for size in self._steps if size.chunk)
        self._chunks = _values(size.chunk for size in self._steps if size.chunk)
        self._capacity_sizes = _values(size.capacity for size in self._steps)
        self.sequences = self._places[-1]
        self.prompt_places = self._prompt_places[-1] if self._prompt_places else 0
        self.vocabulary = next(iter(self._steps.values())).outputs[LOGITS].shape[1]

    def places_for(self, sequences: int) -> int:
        """Return the places of the smallest programs that continue some sequences."""
        return _smallest(self._places, sequences)

    def prompt_places_for(self, sequences: int) -> int:
        """Return the places of the smallest programs that read chunks of some sequences."""
        return _smallest(self._prompt_places, sequences)

    def chunk_for(self, tokens: int) -> int:
        """Return the size of the next chunk, given the number of remaining tokens."""
        return _smallest(self._chunks, tokens)

    def capacity_for(self, tokens: int) -> int:
        """Return the smallest capacity for some tokens, or the largest."""
        return _smallest(self._capacity_sizes, tokens)

    def padded_length(self, tokens: int) -> int:
        """Return the length of a prompt with the padding of its last chunk."""
        length = 0
        while length < tokens:
            length += self.chunk_for(tokens - length)
        return length

    def empty(self, places: int, capacity: int) -> SequenceState:
        """Return the state of no sequences."""
        specs = self._state_specs(places, capacity)
        return SequenceState(places, capacity, {name: _zeros(spec) for name, spec in specs.items()})

    def rearrange(
        self, state: SequenceState, rows: Sequence[int], places: int, capacity: int
    ) -> SequenceState:
        """Return a state with another number of places, or another capacity.

        Args:
            state: the present one.
            rows: the places whose sequences go on; they get the first ones, in this order.
            places: the new number of places, for which there is a program.
            capacity: the new capacity, likewise, for the tokens of these sequences.
        """
        if not rows:
            return self.empty(places, capacity)
        tensors = {}
        for name, spec in self._state_specs(places, capacity).items():
            array = np.zeros(spec.shape, spec.dtype.numpy)
            old = state.tensors[name].numpy()
            common = tuple(map(slice, map(min, old.shape[1:], array.shape[1:])))
            for place, before in enumerate(rows):
                array[(place, *common)] = old[(before, *common)]
            tensors[name] = from_numpy(array).to(spec.device)
        return SequenceState(places, capacity, tensors)

    def move(self, source: SequenceState, row: int, target: SequenceState, place: int) -> None:
        """Give a place of one state what a place of another one holds.

        Args:
            source: the one that it is read from.
            row: the place there.
            target: the one that is written to, with a capacity for the tokens of the sequence.
            place: the place there.
        """
        for name, tensor in source.tensors.items():
            written = target.tensors[name]
            common = tuple(map(slice, map(min, tensor.shape[1:], written.shape[1:])))
            written[(place, *common)] = tensor[(row, *common)]
        flush_all("sync")  # one program, however many of them join at once

    def warm_up(self) -> None:
        """Run every program, so that no sequence waits for its compilation."""
        for size in self._steps:
            state = self.empty(size.places, size.capacity)
            zeros = [0] * size.places
            last = min(size.capacity, self._max_length) - 1
            if not size.chunk:
                self.advance(state, zeros, [last] * size.places)
                continue
            # The padding of the last chunk needs places, too.
            start = last - last % size.chunk
            tokens = [[0] * size.chunk] * size.places
            self.read(state, tokens, [start] * size.places, [1] * size.places)
            for places in self._places:
                self.move(state, 0, self.empty(places, size.capacity), 0)

    def advance(
        self, state: SequenceState, tokens: Sequence[int], positions: Sequence[int]
    ) -> np.ndarray:
        """Return the logits of the next token at each place.

        Args:
            state: the state of the sequences, which becomes the new one.
            tokens: the present token at each place.
            positions: the position of each.
        """
        return self._run(state, 0, {TOKEN: tokens, POSITION: positions})

    def read(
        self,
        state: SequenceState,
        tokens: Sequence[Sequence[int]],
        positions: Sequence[int],
        counts: Sequence[int],
    ) -> np.ndarray:
        """Return the logits of the token after a chunk of each place.

        Args:
            state: the state of the sequences, which becomes the new one.
            tokens: the tokens of each place, as many as there is a program for.
            positions: the position of the first of each.
            counts: the number of those of the sequence, at least one; the others are padding.
        """
        inputs = {TOKEN: tokens, POSITION: positions, COUNT: counts}
        return self._run(state, len(tokens[0]), inputs)

    def _run(self, state: SequenceState, chunk: int, inputs: dict[str, Sequence]) -> np.ndarray:
        step = self._steps[ProgramSize(state.places, chunk, state.capacity)]
        device = step.inputs[TOKEN].device
        tensors = state.tensors | {
            name: from_numpy(np.array(values, np.int64)).to(device)
            for name, values in inputs.items()
        }
        results = self._graph.run_step(step, [tensors[name] for name in step.inputs])
        outputs = dict(zip(step.outputs, results, strict=True))
        logits = outputs.pop(LOGITS).numpy()
        state.tensors = outputs
        return logits

    def _state_specs(self, places: int, capacity: int) -> dict[str, TensorSpec]:
        return state_of(_step_with(self._steps, places, capacity))


def _step_with(steps: dict[ProgramSize, SavedStep], places: int, capacity: int) -> SavedStep:
    return next(
        step for size, step in steps.items() if (size.places, size.capacity) == (places, capacity)
    )


def _values(numbers: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(numbers)))


def _smallest(numbers: Sequence[int], least: int) -> int:
    """The smallest of ascending numbers that is not less than another one, or the largest."""
    return next((number for number in numbers if number >= least), numbers[-1])


def _zeros(spec: TensorSpec) -> Tensor:
    return from_numpy(np.zeros(spec.shape, spec.dtype.numpy)).to(spec.device)
