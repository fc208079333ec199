"""A saved graph that computes one further token of each of several sequences.

Its `build` takes ``token`` and ``position``, int64 with a number for each sequence, and tensors of
state, such as the keys and values of the tokens before. It returns ``logits`` and the new state
under the names of the old one. What a sequence reads of the state must not depend on what another
one left at the same place: attention masks the positions after its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from oneflow.base.dtype import int64
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
        sequences: the number of sequences that it continues together.
        vocabulary: the number of tokens that there are.
    """

    def __init__(self, path: Path) -> None:
        self._graph = SavedGraph(path)
        if len(self._graph.steps) != 1:
            raise ValueError("a graph that generates must be saved after calls of one shape")
        (self._step,) = self._graph.steps
        _check(self._step)
        self.sequences, self.vocabulary = self._step.outputs[_LOGITS].shape
        self._state: dict[str, Tensor] = {}
        self.reset()

    def reset(self) -> None:
        """Forget all sequences."""
        inputs = self._step.inputs.items()
        self._state = {
            name: from_numpy(np.zeros(spec.shape, spec.dtype.numpy)).to(spec.device)
            for name, spec in inputs
            if name not in (_TOKEN, _POSITION)
        }

    def advance(self, tokens: Sequence[int], positions: Sequence[int]) -> np.ndarray:
        """Return the logits of the next token of each sequence.

        Args:
            tokens: the present token of each sequence.
            positions: the position of each.
        """
        device = self._step.inputs[_TOKEN].device
        given = {
            name: from_numpy(np.array(values, np.int64)).to(device)
            for name, values in ((_TOKEN, tokens), (_POSITION, positions))
        }
        tensors = [(self._state | given)[name] for name in self._step.inputs]
        results = self._graph.run_step(self._step, tensors)
        outputs = dict(zip(self._step.outputs, results, strict=True))
        logits = outputs.pop(_LOGITS).numpy()
        self._state = outputs
        return logits


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
    state = {name: spec for name, spec in step.inputs.items() if name not in (_TOKEN, _POSITION)}
    returned = {name: spec for name, spec in step.outputs.items() if name != _LOGITS}
    if state != returned:
        raise ValueError(
            f"a graph that generates returns its state as it takes it: it takes {state}, and "
            f"returns {returned}"
        )
