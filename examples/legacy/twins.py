"""A job function and a module of today, trained side by side from the same variables."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from tqdm import tqdm

import oneflow as flow
from oneflow import nn

# The names, in modules, of variables of `flow.layers`.
ENDINGS = {
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
}


def key_of(variable: str) -> str:
    """Return a variable's key in a state dict: ``layer-gamma`` is ``layer.weight``."""
    *path, ending = variable.split("-")
    return ".".join([*path, ENDINGS.get(ending, ending)])


def give_variables(module: nn.Module) -> None:
    """Let a module start from the variables of the jobs.

    Raises:
        RuntimeError: they are not those of the module.
    """
    state = {key_of(name): value.numpy() for name, value in flow.get_all_variables().items()}
    kept = {name: value for name, value in module.state_dict().items() if "num_batches" in name}
    module.load_state_dict({name: flow.tensor(value) for name, value in state.items()} | kept)


def losses_of(
    job: Callable[..., np.ndarray],
    step: Callable[..., flow.Tensor],
    batches: Iterable[Mapping[str, np.ndarray]],
) -> list[tuple[float, float]]:
    """Train both on the same batches.

    Args:
        job: returns the losses of a batch.
        step: likewise, of today's twin; takes tensors.
        batches: the arguments of each step by name.

    Returns:
        The mean losses of each step, of the job and of its twin.
    """
    losses = []
    for batch in tqdm(batches, unit="step"):
        today = step(**{name: flow.tensor(array) for name, array in batch.items()})
        losses.append((float(job(**batch).mean()), today.item()))
    return losses


def print_losses(losses: Iterable[tuple[float, float]]) -> None:
    """Print a line for each step."""
    print("step   job function   today")
    for number, (job, today) in enumerate(losses):
        print(f"{number:4}   {job:12.6f}   {today:.6f}")
