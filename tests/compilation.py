"""How XLA compiles in tests: quickly, or as it does for users.

What the tests of most rooms show does not depend on how well XLA optimizes code, which is what
took most of the suite's time. Laws of operators and the seed rows are compiled as for users;
with `--exhaustive` everything is.
"""

from __future__ import annotations

from typing import Any

# A training step of a perceptron takes 130 ms of processor time instead of 280. Level 0 would take
# 30, but gives wrong gradients of a convolutional network.
QUICKLY: dict[str, Any] = {
    "xla_backend_optimization_level": 1,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}
# What XLA does unless it is told otherwise.
AS_FOR_USERS: dict[str, Any] = {
    "xla_backend_optimization_level": 3,
    "xla_cpu_use_fusion_emitters": True,
    "xla_cpu_parallel_codegen_split_count": 32,
}


def xla_flags(options: dict[str, Any]) -> str:
    """Return the options as XLA reads them from the variable XLA_FLAGS."""
    return " ".join(f"--{name}={str(value).lower()}" for name, value in options.items())
