"""Plots of the examples."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

Curve = tuple[Sequence[float], Sequence[float]]


def plot_curves(path: Path, curves: Mapping[str, Curve], **labels: str) -> None:
    """Draw curves into a picture, whose folder is made.

    Args:
        path: the file.
        curves: places and values, by the name of each.
        labels: `title`, `xlabel`, `ylabel`, `yscale` and the like of the axes.
    """
    figure, axes = plt.subplots(figsize=(6, 3.5), constrained_layout=True)
    for name, (places, values) in curves.items():
        axes.plot(places, values, label=name)
    axes.set(**labels)
    if len(curves) > 1:
        axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
