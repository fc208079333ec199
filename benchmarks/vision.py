"""Models of flowvision and the same of torchvision and timm, and by hand in JAX, in turns.

    python benchmarks/vision.py                         # training steps
    python benchmarks/vision.py --inference             # the models alone
    python benchmarks/vision.py resnet18 --batch 32     # some of them

Every figure is the median over the rounds; in a round each rival, in its own process, runs the same
number of steps on images of 224 x 224 pixels, one rival after the other.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.rivals import inference_step, measure, training_step
from benchmarks.workloads import Workload

RIVALS = ("oneflow", "torch", "graph", "torch.compile", "jax.jit")
# The name in flowvision, and where PyTorch has the same model.
TWINS = {
    "resnet18": ("torchvision", "resnet18"),
    "mobilenet_v3_small": ("torchvision", "mobilenet_v3_small"),
    "vit_tiny_patch16_224": ("timm", "vit_tiny_patch16_224"),
    "deit_tiny_patch16_224": ("timm", "deit_tiny_patch16_224"),
    "swin_tiny_patch4_window7_224": ("timm", "swin_tiny_patch4_window7_224"),
    "convnext_tiny_224": ("timm", "convnext_tiny"),
    "mlp_mixer_s16_224": ("timm", "mixer_s16_224"),
}


def workload(name: str, batch: int, rounds: int) -> Workload:
    """The steps of one model."""
    options = {"name": name, "twin": TWINS[name], "batch": batch}
    return Workload(name, steps=1, rounds=rounds, has_jax=True, model="vision", options=options)


def row(name: str, medians: dict[str, float]) -> str:
    """One line of the Markdown table."""
    cells = [f"{medians[rival] * 1e3:.1f}" if rival in medians else "" for rival in RIVALS]
    ratios = [
        f"{medians[ours] / medians[theirs]:.2f}" if {ours, theirs} <= set(medians) else ""
        for ours, theirs in (("oneflow", "torch"), ("graph", "torch.compile"), ("graph", "jax.jit"))
    ]
    return f"| {name} | {' | '.join(cells + ratios)} |"


def main() -> None:
    """Run the chosen models and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(TWINS)}; default: all")
    parser.add_argument("--inference", action="store_true", help="the models alone")
    parser.add_argument("--batch", type=int, default=8, help="images in a step (default: 8)")
    parser.add_argument("--rounds", type=int, default=9, help="rounds (default: 9)")
    parser.add_argument("--rivals", nargs="+", choices=RIVALS, default=RIVALS, help="some of them")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in TWINS]
    if unknown:
        parser.error(f"unknown model {unknown[0]!r}; known: {', '.join(TWINS)}")
    what = "inference" if options.inference else "training step"
    heads = " | ".join(f"{name} ms" for name in RIVALS)
    print(f"| {what} | {heads} | / torch | graph / torch.compile | graph / JAX |")
    print(f"|{'---|' * 9}", flush=True)
    for name in options.names or TWINS:
        build = inference_step if options.inference else training_step
        medians = measure(build, workload(name, options.batch, options.rounds), options.rivals)
        print(row(name, medians), flush=True)


if __name__ == "__main__":
    main()
