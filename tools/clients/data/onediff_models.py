"""Compiles models of PyTorch by onediff's `oneflow_compile`, and compares what they compute.

python onediff_models.py
"""

import importlib
import sys

import torch

SIZES = {
    "sample_size": 8,
    "layers_per_block": 1,
    "block_out_channels": (32, 32),
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
    "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
    "norm_num_groups": 8,
    "cross_attention_dim": 16,
    "attention_head_dim": 4,
}


class Normalized(torch.nn.Module):
    """A model of the program itself."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.norm = torch.nn.LayerNorm(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the normalized activations."""
        return self.norm(torch.relu(self.linear(x)))


def main() -> int:
    """Return 1 if a compiled model gives other values."""
    # Its operators are of one build of PyTorch alone, and nothing here needs them.
    sys.modules["torchvision"] = None  # pyright: ignore[reportArgumentType]
    unet = importlib.import_module("diffusers").UNet2DConditionModel
    oneflow_compile = importlib.import_module("onediff.infer_compiler").oneflow_compile
    torch.manual_seed(0)
    step = torch.tensor(3)
    difference = 0.0
    with torch.no_grad():
        model = Normalized().eval()
        compiled = oneflow_compile(model)
        for batch in (2, 2, 3):
            x = torch.randn(batch, 4)
            difference = max(difference, (compiled(x) - model(x)).abs().max().item())
        model = unet(**SIZES).eval()
        compiled = oneflow_compile(model)
        for batch, size in ((1, 8), (1, 8), (2, 16)):
            inputs = torch.randn(batch, 4, size, size), step, torch.randn(batch, 5, 16)
            result, expected = compiled(*inputs).sample, model(*inputs).sample
            difference = max(difference, (result - expected).abs().max().item())
    sys.stdout.write(f"largest difference {difference:.1e}\n")
    return int(not difference < 1e-5)


if __name__ == "__main__":
    sys.exit(main())
