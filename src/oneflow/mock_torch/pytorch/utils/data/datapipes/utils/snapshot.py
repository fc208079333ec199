"""``torch.utils.data.datapipes.utils.snapshot``: bringing a pipe to where another one stopped."""

from __future__ import annotations

from typing import Any

from oneflow.data.datapipes import IterDataPipe
from oneflow.data.pipe_iterators import SnapshotState
from oneflow.mock_torch.pytorch.utils.data.graph_settings import apply_random_seed


def _simple_graph_snapshot_restoration(
    datapipe: IterDataPipe, n_iterations: int, rng: Any = None
) -> None:
    """Read so many samples of a pipe that its next iterator goes on behind them.

    Args:
        datapipe: the last pipe.
        n_iterations: how many samples were read before.
        rng: the generator from which the pipes' seeds come, in its first state.

    Raises:
        RuntimeError: the pipe has been brought to a place already, or has fewer samples.
    """
    if datapipe._snapshot_state is SnapshotState.Restored:
        raise RuntimeError(
            "Snapshot restoration cannot be applied. You can only restore simple snapshot to the "
            "graph if your graph has not been restored."
        )
    datapipe.reset()
    apply_random_seed(datapipe, rng)
    samples = iter(datapipe)
    for _ in range(n_iterations):
        try:
            next(samples)
        except StopIteration as error:
            raise RuntimeError(
                f"Fast-forward {datapipe} by {n_iterations} iterations exceeds the number of "
                "samples available."
            ) from error
    datapipe._fast_forward_iterator = samples
    datapipe._snapshot_state = SnapshotState.Restored
