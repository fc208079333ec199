"""The position of a loader within an epoch, and the states that its generators had there."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oneflow.random.generator import Generator, default_generator
from oneflow.tensor.tensor import Tensor


@dataclass
class Position:
    """The position within an epoch.

    Attributes:
        begin: states of `order_generators` when it began.
        order: their states when the first numbers were taken, since samplers draw their order
            with those; None before.
        num_taken: number of batches whose numbers have been taken; workers take them ahead.
        num_batches: number of batches given out.
        exhausted: it is over.
    """

    begin: Sequence[Tensor]
    order: Sequence[Tensor] | None = None
    num_taken: int = 0
    num_batches: int = 0
    exhausted: bool = False

    def state_dict(self) -> dict[str, Any]:
        """Return what a loader needs to go on from here, beside its generators' present states."""
        return {
            "batches": self.num_batches,
            "taken": self.num_taken,
            "begin": self.begin,
            "order": self.order,
        }


class Numbers(Iterator):
    """The numbers of an epoch's batches; their source is noted in a `Position`."""

    def __init__(
        self, numbers: Iterator, generators: Sequence[Generator | None], position: Position
    ) -> None:
        self._numbers = numbers
        self._generators = generators
        self._position = position

    def __next__(self) -> Any:
        if self._position.order is None:
            self._position.order = states(self._generators)
        numbers = next(self._numbers)
        self._position.num_taken += 1
        return numbers

    def go_on(self, state: Mapping[str, Any]) -> Iterator:
        """Take what was taken before, from the same states; returns what was not given out."""
        self._position.order = state["order"]
        self._position.num_batches = state["batches"]
        set_states(self._generators, state["order"])
        taken = list(itertools.islice(self, state["taken"]))
        return itertools.chain(taken[state["batches"] :], self)


def require_state(state: Mapping[str, Any]) -> None:
    """Refuse what is no state of a loader.

    Raises:
        ValueError: it lacks something, as the states of earlier versions do.
    """
    missing = sorted({"begin", "batches", "generators"} - state.keys())
    if missing:
        raise ValueError(
            f"`state_dict` lacks {missing}: it is no state of a `DataLoader`, or that of an "
            "earlier version; begin the epoch anew"
        )


def order_generators(loader: Any) -> tuple[Generator | None, Generator | None]:
    """The generators of a loader and of its sampler; None is the default one."""
    batch_sampler = loader.batch_sampler
    for sampler in (batch_sampler, getattr(batch_sampler, "sampler", None), loader.sampler):
        generator = getattr(sampler, "generator", None)
        if isinstance(generator, Generator):
            return loader.generator, generator
    return loader.generator, None


def states(generators: Sequence[Generator | None]) -> list[Tensor]:
    """The present states of generators."""
    return [(generator or default_generator).get_state() for generator in generators]


def generator_states(generators: Sequence[Generator | None]) -> list[Tensor | None]:
    """The present states of generators; None for the default one, which belongs to the program."""
    return [None if generator is None else generator.get_state() for generator in generators]


def set_states(generators: Sequence[Generator | None], states: Sequence[Tensor]) -> None:
    """Set states of generators that `states` returned."""
    for generator, state in zip(generators, states, strict=True):
        (generator or default_generator).set_state(state)
