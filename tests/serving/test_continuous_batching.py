"""Sequences that come, end and are given up at random, with a graph that computes nothing."""

import asyncio
import random

import numpy as np
import pytest

from oneflow.serving.continuous_batching import ContinuousBatcher
from oneflow.serving.generation import GenerationRequest
from oneflow.serving.generator_graph import GeneratorGraph, SequenceState
from oneflow.serving.generator_programs import COUNT, POSITION, TOKEN

VOCABULARY, LENGTH = 31, 24


def next_token(tokens):
    """Depends on every token before, and on its position."""
    return (sum((index + 1) * token for index, token in enumerate(tokens)) * 7 + 1) % VOCABULARY


class RememberingGraph(GeneratorGraph):
    """A graph whose state is the tokens that it has seen."""

    def __init__(self, places, prompts, chunks, capacity_sizes):
        self._max_length, self.vocabulary = LENGTH, VOCABULARY
        self._places, self._prompt_places = places, prompts
        self._chunks, self._capacity_sizes = chunks, capacity_sizes
        self.sequences, self.prompt_places = places[-1], max(prompts, default=0)
        self.used = set()

    def empty(self, places, capacity):
        return SequenceState(places, capacity, {"seen": np.full((places, capacity), -1)})

    def rearrange(self, state, kept, places, capacity):
        new = self.empty(places, capacity)
        for place, before in enumerate(kept):
            self.move(state, before, new, place)
        return new

    def move(self, source, row, target, place):
        common = min(source.capacity, target.capacity)
        target.tensors["seen"][place, :common] = source.tensors["seen"][row, :common]

    def _run(self, state, chunk, given):
        assert state.places in (self._prompt_places if chunk else self._places)
        assert state.capacity in self._capacity_sizes
        assert chunk in (0, *self._chunks)
        self.used.add((state.places, chunk, state.capacity))
        counts = given.get(COUNT, [1] * state.places)
        tokens = given[TOKEN] if chunk else [[token] for token in given[TOKEN]]
        logits = np.zeros((state.places, VOCABULARY))
        for place, (row, begin, count) in enumerate(
            zip(tokens, given[POSITION], counts, strict=True)
        ):
            assert begin + len(row) <= state.capacity
            seen = state.tensors["seen"][place]
            seen[begin : begin + len(row)] = row
            logits[place, next_token(seen[: begin + count].tolist())] = 1
        return logits


class NoStatistics:
    """Counts nothing."""

    def add_run(self, *_):
        pass

    def add_success(self, *_):
        pass


async def ask(batcher, rng):
    """Continue a prompt, and perhaps give up after two tokens; compare what comes."""
    tokens = [rng.randrange(VOCABULARY) for _ in range(rng.randint(1, 20))]
    count, given_up = rng.randint(1, LENGTH - len(tokens)), rng.random() < 0.2
    await asyncio.sleep(rng.random() * 0.02)
    answers = batcher.generate(GenerationRequest(tokens, count))
    found = []
    async for token in answers:
        found.append(token)
        if given_up and len(found) == 2:
            break
    await answers.aclose()
    expected = list(tokens)
    for _ in range(count):
        expected.append(next_token(expected))
    assert found == expected[len(tokens) :][: 2 if given_up else count]


@pytest.mark.parametrize(
    ("places", "prompts", "chunks", "capacity_sizes"),
    [
        ((2,), (), (), (LENGTH,)),
        ((1, 2, 4), (), (), (LENGTH,)),
        ((1, 2, 4), (1, 3), (2, 4), (8, 16, LENGTH)),
        ((8,), (1,), (8,), (LENGTH,)),
        ((1, 8), (8,), (4,), (12, LENGTH)),
    ],
)
def test_every_sequence_gets_its_tokens(places, prompts, chunks, capacity_sizes):
    graph = RememberingGraph(places, prompts, chunks, capacity_sizes)
    rng = random.Random(0)

    async def run():
        batcher = ContinuousBatcher("test", graph, LENGTH, 1000, NoStatistics())
        async with asyncio.timeout(60):
            await asyncio.gather(*(ask(batcher, rng) for _ in range(100)))
            await batcher.close()

    asyncio.run(run())
    assert {chunk for _, chunk, _ in graph.used} == {0, *chunks}
    assert {capacity for _, _, capacity in graph.used} == set(capacity_sizes)
