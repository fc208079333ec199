"""The position of a loader within an epoch, and the states that its generators had there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from oneflow.random.generator import Generator
from oneflow.tensor.tensor import Tensor


@dataclass
class Position:
    """The position within an epoch.

    Attributes:
        begin: state of the loader's generator when it began.
        begin_of_sampler: that of the sampler's own generator, if it has one.
        num_batches: number of batches given out.
        exhausted: it is over.
        is_ordered: the order has been drawn: samplers draw it with the first number.
    """

    begin: Tensor
    begin_of_sampler: Tensor | None
    num_batches: int = 0
    exhausted: bool = False
    is_ordered: bool = False

    def state_dict(self) -> dict[str, Any]:
        """Return what a loader needs to go on from here."""
        return {
            "batches": self.num_batches,
            "begin": self.begin,
            "sampler": self.begin_of_sampler,
            "is_ordered": self.is_ordered or self.num_batches > 0,
        }


def sampler_generator(loader: Any) -> Generator | None:
    """The generator that the sampler of a loader draws from, if it is not the loader's."""
    for sampler in (loader.sampler, getattr(loader.batch_sampler, "sampler", None)):
        generator = getattr(sampler, "generator", None)
        if isinstance(generator, Generator) and generator is not loader.generator:
            return generator
    return None


def sampler_state(loader: Any) -> Tensor | None:
    """The present state of `sampler_generator`."""
    generator = sampler_generator(loader)
    return None if generator is None else generator.get_state()
