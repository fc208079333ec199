"""A saved graph that computes one further token of each of several sequences.

Its `build` takes ``token`` and ``position``, int64 with a number for each sequence, and tensors of
state, such as the keys and values of the tokens before. It returns ``logits`` and the new state
under the names of the old one. What a sequence reads of the state must not depend on what another
one left at the same place: attention masks the positions after its own.

If the graph was saved for several numbers of sequences, which are the first dimension of its state,
the smallest program that has a place for each runs: few sequences do not wait for many places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from oneflow.base.dtype import int64
from oneflow.base.spec import TensorSpec
from oneflow.functional.creation.from_data import from_numpy
from oneflow.graph.saved_graph import SavedGraph, SavedStep
from oneflow.tensor.tensor import Tensor

_TOKEN, _POSITION, _LOGITS = "token", "position", "logits"


class GeneratorGraph:
    """A saved graph with the state of its sequences.

    Args:
        path: the folder of the graph.

    Raises:
        ValueError: it is not such a graph; says why.

    Attributes:
        sequences: the largest number of sequences that it continues together.
        vocabulary: the number of tokens that there are.
        places: the number of places for sequences in the present state.
    """

    def __init__(self, path: Path) -> None:
        self._graph = SavedGraph(path)
        for step in self._graph.steps:
            _check(step)
        self._steps = _steps_by_places(self._graph.steps)
        self.sequences = max(self._steps)
        self.vocabulary = self._steps[self.sequences].outputs[_LOGITS].shape[1]
        self.places = min(self._steps)
        self._state: dict[str, Tensor] = {}
        self.reset()

    def places_for(self, sequences: int) -> int:
        """Return the number of places of the smallest program for some sequences."""
        return min(places for places in self._steps if places >= sequences)

    def reset(self) -> None:
        """Forget all sequences."""
        self._state = {name: _zeros(spec) for name, spec in self._state_specs(self.places).items()}

    def rearrange(self, kept: Sequence[int], places: int) -> None:
        """Change the number of places.

        Args:
            kept: the places whose sequences go on; they get the first ones, in this order.
            places: the new number of places, for which there is a program.
        """
        state = {}
        for name, spec in self._state_specs(places).items():
            if kept:
                rows = np.zeros(spec.shape, spec.dtype.numpy)
                rows[: len(kept)] = self._state[name].numpy()[list(kept)]
                state[name] = from_numpy(rows).to(spec.device)
            else:
                state[name] = _zeros(spec)
        self._state, self.places = state, places

    def warm_up(self) -> None:
        """Run every program, so that no sequence waits for its compilation."""
        for places in sorted(self._steps, reverse=True):
            self.rearrange((), places)
            self.advance([0] * places, [0] * places)
        self.reset()

    def advance(self, tokens: Sequence[int], positions: Sequence[int]) -> np.ndarray:
        """Return the logits of the next token at each place.

        Args:
            tokens: the present token at each place.
            positions: the position of each.
        """
        step = self._steps[self.places]
        device = step.inputs[_TOKEN].device
        given = {
            name: from_numpy(np.array(values, np.int64)).to(device)
            for name, values in ((_TOKEN, tokens), (_POSITION, positions))
        }
        tensors = [(self._state | given)[name] for name in step.inputs]
        results = self._graph.run_step(step, tensors)
        outputs = dict(zip(step.outputs, results, strict=True))
        logits = outputs.pop(_LOGITS).numpy()
        self._state = outputs
        return logits

    def _state_specs(self, places: int) -> dict[str, TensorSpec]:
        return _without(self._steps[places].inputs, _TOKEN, _POSITION)


def _zeros(spec: TensorSpec) -> Tensor:
    return from_numpy(np.zeros(spec.shape, spec.dtype.numpy)).to(spec.device)


def _without(specs: Mapping[str, TensorSpec], *names: str) -> dict[str, TensorSpec]:
    return {name: spec for name, spec in specs.items() if name not in names}


def _steps_by_places(steps: Sequence[SavedStep]) -> dict[int, SavedStep]:
    """The programs by the number of sequences.

    Raises:
        ValueError: they differ in something else.
    """
    found = {step.outputs[_LOGITS].shape[0]: step for step in steps}
    rows = [
        {
            name: (spec.dtype, spec.shape[:1] == (places,) and spec.shape[1:])
            for name, spec in step.outputs.items()
        }
        for places, step in found.items()
    ]
    is_same = len(found) == len(steps) and all(each == rows[0] for each in rows)
    if len(steps) > 1 and not (
        is_same and all(shape is not False for _, shape in rows[0].values())
    ):
        raise ValueError(
            "a graph that generates must be saved after calls that differ in nothing but "
            "the number of sequences, the first dimension of its state; it was saved after calls "
            f"with {[step.inputs for step in steps]}"
        )
    return found


def _check(step: SavedStep) -> None:
    """Make sure that a program continues sequences.

    Raises:
        ValueError: it does not.
    """
    if step.updated:
        raise ValueError(f"each call changes `{step.updated[0]}`; pass the state as arguments")
    logits = step.outputs.get(_LOGITS)
    if logits is None or logits.ndim != 2 or not logits.dtype.is_floating_point:
        raise ValueError("a graph that generates returns `logits`, a number per sequence and token")
    for name in (_TOKEN, _POSITION):
        spec = step.inputs.get(name)
        if spec is None or spec.shape != logits.shape[:1] or spec.dtype is not int64:
            raise ValueError(f"a graph that generates takes `{name}`, int64 [{logits.shape[0]}]")
    state, returned = _without(step.inputs, _TOKEN, _POSITION), _without(step.outputs, _LOGITS)
    if state != returned:
        raise ValueError(
            f"a graph that generates returns its state as it takes it: it takes {state}, and "
            f"returns {returned}"
        )
