"""Kinds of accelerators, by name: the rates of their data sheets, and what XLA compiles for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from oneflow.base.suggestions import did_you_mean

# Large products reach this part of a data sheet's operations per second.
_EFFICIENCY = 0.5


@dataclass(frozen=True)
class Chip:
    """A kind of accelerator, and how many of them are one node.

    Rates are those of dense operations, and of links in one direction.

    Attributes:
        name: its name on the command line.
        type: the type of its devices in placements.
        flops: operations per second, by the name of a dtype.
        memory: bytes of memory.
        bandwidth: bytes per second that it reads or writes.
        link: bytes per second that it sends within its node, or slice of TPUs.
        network: bytes per second that it sends to other nodes.
        latency: seconds of a collective besides its bytes.
        node_size: chips of a node, or of the largest slice of TPUs.
        target: facts that XLA's compiler wants to know besides, by its names for them.

    Example:
        >>> import dataclasses
        >>> from oneflow.plan import chip_named, register_chip
        >>> pcie = dataclasses.replace(
        ...     chip_named("h100"), name="h100_pcie", bandwidth=2.0e12, link=6.4e10
        ... )
        >>> register_chip(pcie)
        >>> chip_named("h100_pcie").link
        64000000000.0
    """

    name: str
    type: str
    flops: Mapping[str, float] = field(hash=False)
    memory: int
    bandwidth: float
    link: float
    network: float
    latency: float
    node_size: int
    target: Mapping[str, object] = field(default_factory=dict, hash=False)

    def seconds(self, flops: float, dtype: str, bytes_accessed: float) -> float:
        """The seconds of operations on a dtype, with so many bytes read and written."""
        rate = self.flops.get(dtype, self.flops["float32"])
        return flops / (rate * _EFFICIENCY) + bytes_accessed / self.bandwidth

    def link_rate(self, group: int, stride: int) -> float:
        """The bytes per second that each chip of a group sends to the others.

        Between nodes, all chips of the group in a node send what one would.

        Args:
            group: number of chips.
            stride: distance of their ranks.
        """
        if (group - 1) * stride < self.node_size:
            return self.link
        return min(self.link, self.network * max(self.node_size // stride, 1))

    def rate_between(self, source: int, target: int) -> float:
        """The bytes per second from one chip to another, by their ranks."""
        is_same_node = source // self.node_size == target // self.node_size
        return self.link if is_same_node else self.network

    def slowed(self, factor: float, latency: float | None) -> Chip:
        """The chip with rates divided by a factor, and another latency unless that is None."""
        return replace(
            self,
            flops={dtype: rate / factor for dtype, rate in self.flops.items()},
            bandwidth=self.bandwidth / factor,
            latency=self.latency if latency is None else latency,
        )


def _gpu(
    name: str,
    half: float,
    single: float,
    double: float,
    memory: int,
    bandwidth: float,
    link: float,
    target: Mapping[str, object],
) -> Chip:
    """A GPU in nodes of eight, each with a network card of 400 Gbit/s."""
    flops = {"float16": half, "bfloat16": half, "float32": single, "float64": double}
    return Chip(name, "cuda", flops, memory, bandwidth, link, 5e10, 1e-5, 8, target)


def _tpu(
    name: str,
    half: float,
    memory: int,
    bandwidth: float,
    link: float,
    network: float,
    node_size: int,
    target: Mapping[str, object],
) -> Chip:
    """A TPU; products of float32 take as long as bfloat16's, to which XLA rounds them."""
    flops = {"float16": half, "bfloat16": half, "float32": half, "float64": half / 64}
    return Chip(name, "tpu", flops, memory, bandwidth, link, network, 3e-6, node_size, target)


_AMPERE = {
    "major": 8, "cores": 108, "lanes": 64, "shared_memory": 167936, "block_memory": 166912,
    "cache": 41943040, "clock": 1.41, "description": "NVIDIA A100-SXM4-80GB",
}  # fmt: skip
_HOPPER = {
    "major": 9, "cores": 132, "lanes": 128, "shared_memory": 233472, "block_memory": 232448,
    "cache": 52428800, "clock": 1.98, "description": "NVIDIA H100 80GB HBM3",
}  # fmt: skip
_BLACKWELL = _HOPPER | {
    "major": 10, "cores": 148, "cache": 132644864, "clock": 1.965, "description": "NVIDIA B200",
}  # fmt: skip
_H200 = _HOPPER | {"description": "NVIDIA H200"}
# The sides of slices, smallest first, and the type of an accelerator by which `libtpu` knows them.
_PLANES = ((1, 1), (2, 2), (2, 4), (4, 4), (4, 8), (8, 8), (8, 16), (16, 16))
_TPU_SHAPES = (
    (2, 2, 1),
    (2, 2, 2),
    (2, 2, 4),
    (2, 4, 4),
    (4, 4, 4),
    (4, 4, 8),
    (4, 8, 8),
    (8, 8, 8),
)
_V5E = {"accelerator": "v5litepod-16", "slices": _PLANES}
_V5P = {"accelerator": "v5p-8", "slices": _TPU_SHAPES}
_V6E = {"accelerator": "v6e-4", "slices": _PLANES}
# Products of float32 are rounded to TensorFloat-32 on GPUs, as `set_float32_matmul_precision` says.
_CHIPS = {
    chip.name: chip
    for chip in (
        _gpu("a100", 3.12e14, 1.56e14, 1.95e13, 85_000_000_000, 2.04e12, 3e11, _AMPERE),
        _gpu("h100", 9.89e14, 4.95e14, 6.7e13, 84_978_434_048, 3.35e12, 4.5e11, _HOPPER),
        _gpu("h200", 9.89e14, 4.95e14, 6.7e13, 150_000_000_000, 4.8e12, 4.5e11, _H200),
        _gpu("b200", 2.25e15, 1.12e15, 3.7e13, 191_000_000_000, 7.7e12, 9e11, _BLACKWELL),
        _tpu("v5e", 1.97e14, 16 * 2**30, 8.19e11, 1e11, 3e9, 256, _V5E),
        _tpu("v5p", 4.59e14, 95 * 2**30, 2.765e12, 3e11, 6e9, 8960, _V5P),
        _tpu("v6e", 9.18e14, 32 * 2**30, 1.64e12, 2.2e11, 6e9, 256, _V6E),
    )
}
# A few cores, and a process per device on the same host.
_CPU_FLOPS = {"float16": 2e11, "bfloat16": 2e11, "float32": 2e11, "float64": 1e11}
_CPU = Chip("cpu", "cpu", _CPU_FLOPS, 64 * 2**30, 1e10, 2e9, 2e9, 5e-5, 1 << 20)


def chip_of_type(type: str) -> Chip:
    """The chip assumed for devices of which only the type is known."""
    return {"cuda": _CHIPS["h100"], "tpu": _CHIPS["v5p"], "cpu": _CPU}[type]


def chip_names() -> list[str]:
    """Return the names of all chips.

    Example:
        >>> from oneflow.plan import chip_names
        >>> "h100" in chip_names()
        True
    """
    return list(_CHIPS)


def chip_named(name: str) -> Chip:
    """Return the chip of a name.

    Raises:
        ValueError: there is none.

    Example:
        >>> from oneflow.plan import chip_named
        >>> chip_named("h100").type
        'cuda'
    """
    if name not in _CHIPS:
        raise ValueError(
            f"no chip is called {name!r}; there are {', '.join(_CHIPS)}, and "
            f"`oneflow.plan.register_chip` adds others{did_you_mean(name, _CHIPS)}"
        )
    return _CHIPS[name]


def register_chip(chip: Chip) -> None:
    """Add a chip for `chip_named` and ``python -m oneflow plan --chips``; see `Chip`.

    Raises:
        ValueError: another one has its name.

    Example:
        >>> import dataclasses
        >>> from oneflow.plan import chip_named, register_chip
        >>> register_chip(dataclasses.replace(chip_named("a100"), name="a100_40", memory=42 << 30))
        >>> chip_named("a100_40").memory == 42 << 30
        True
    """
    if _CHIPS.setdefault(chip.name, chip) != chip:
        raise ValueError(f"another chip is called {chip.name!r}; give this one another `name`")
