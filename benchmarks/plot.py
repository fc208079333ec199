"""Draw the figures of `RESULTS.md`: ``python benchmarks/plot.py`` writes `docs/images/speed.svg`.

Each bar is a training step's time over that of PyTorch's eager mode, measured in one run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt

HERE = Path(__file__).parent
PICTURE = HERE.parent / "docs" / "images" / "speed.svg"
# The column that holds the ratio to PyTorch's eager mode, by the title of the table's first column.
TABLES = {
    "eager training step": ("eager", "/ torch"),
    "training step as one `nn.Graph`": ("nn.Graph", "/ torch eager"),
}


def ratios(text: str) -> Iterator[tuple[str, str, float]]:
    """Yield mode, workload and ratio of each row of the tables."""
    header: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            header = []
        elif not header:
            header = cells
        elif header[0] in TABLES and (mode := TABLES[header[0]]) and mode[1] in header:
            value = re.search(r"\d+\.\d+", cells[header.index(mode[1])])
            if value:
                name = re.sub(r" \(.*?\)| \d layers", "", cells[0].split(",")[0])
                yield mode[0], name, float(value[0])


def main() -> None:
    """Draw."""
    found = list(ratios((HERE / "RESULTS.md").read_text()))
    names = list(dict.fromkeys(name for _, name, _ in found))
    figure, axes = plt.subplots(figsize=(8, 0.55 * len(names) + 1))
    for offset, (mode, color) in enumerate((("eager", "#4c78a8"), ("nn.Graph", "#f58518"))):
        bars = {name: ratio for label, name, ratio in found if label == mode}
        at = [names.index(name) + 0.38 * offset for name in bars]
        axes.barh(at, list(bars.values()), height=0.36, color=color, label=f"OneFlow, {mode}")
        for height, ratio in zip(at, bars.values(), strict=True):
            axes.text(ratio + 0.01, height, f"{ratio:.2f}", va="center", fontsize=8)
    axes.axvline(1, color="black", linewidth=1)
    axes.text(1.0, -0.75, "PyTorch eager = 1", ha="center", fontsize=9)
    axes.set_yticks([index + 0.19 for index in range(len(names))], names, fontsize=9)
    axes.invert_yaxis()
    axes.set_xlabel("time of a training step over PyTorch's, two CPU cores: less is better")
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.25, -0.08), ncols=2)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
