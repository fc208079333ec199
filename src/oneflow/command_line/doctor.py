"""``python -m oneflow doctor``: a report on this installation, ready to paste into a bug report."""

from __future__ import annotations

import platform
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import numpy as np

from oneflow.base import environment
from oneflow.base.command_parser import CommandParser
from oneflow.base.device import DEVICE_TYPES, platform_devices
from oneflow.base.environment import EnvironmentVariable, cache_folder
from oneflow.base.placement import Placement
from oneflow.base.replaced_variables import replaced_variables
from oneflow.base.sbp import split
from oneflow.base.unknown_variables import unknown_variables
from oneflow.control_plane.channel import free_port
from oneflow.functional.creation.factory_functions import ones
from oneflow.functional.global_tensors.conversion import to_global
from oneflow.graph.graph import Graph
from oneflow.nn.modules.linear import Linear
from oneflow.optim.sgd import SGD
from oneflow.tensor.tensor import Tensor
from oneflow.tuning.threads import get_num_threads
from oneflow.version import __version__

# A requirement as the package's description has it: `jax[cuda12]>=0.10; extra == 'cuda'`.
_OF_EXTRA = re.compile(
    r"(?P<name>[\w.-]+)(?:\[(?P<extras>[\w,-]+)\])?.*;.*extra == ['\"](?P<extra>[\w-]+)['\"]"
)


def report() -> Iterator[str]:
    """Yield the lines on versions, devices, threads, the cache, the network and variables."""
    yield f"path: {Path(__file__).parents[1]}"
    yield f"version: {__version__}"
    yield f"python: {platform.python_version()} on {platform.platform()}"
    yield f"jax: {version('jax')}, jaxlib: {version('jaxlib')}, numpy: {np.__version__}"
    yield f"extras: {_describe_extras()}"
    yield f"devices: {', '.join(filter(None, map(_describe_devices, DEVICE_TYPES)))}"
    yield f"threads: {get_num_threads()}"
    yield f"cache: {_describe_cache()}"
    yield f"network: host {socket.gethostname()}, a port can be opened ({free_port()})"
    read = [
        variable
        for variable in vars(environment).values()
        if isinstance(variable, EnvironmentVariable)
    ]
    for variable in read:
        if variable.read() != variable.default and variable is not environment.SECRET:
            yield f"{variable.name}={variable.read()}"
    for name, place in replaced_variables().items():
        yield f"{name} is not read; in its place: {place}"
    for name, suggestion in unknown_variables().items():
        yield f"{name} is not read{suggestion}"


def _describe_devices(type: str) -> str:
    """The number of devices, and the kind of the first one where it has a name."""
    devices = platform_devices(type)
    kind = devices[0].device_kind if devices else type
    return f"{len(devices)} {type}{'' if kind == type else f' ({kind})'}" if devices else ""


def _describe_extras() -> str:
    """The extras that are installed, and the missing packages of the others."""
    if not _is_installed("oneflow-xla"):
        return "unknown, since the package is found by its path and not installed"
    rows = []
    for extra, names in _needed("oneflow-xla").items():
        missing = [name for name in names if not _is_installed(name)]
        if extra != "test":
            rows.append(f"{extra} (without {', '.join(missing)})" if missing else extra)
    return ", ".join(rows)


def _needed(package: str) -> dict[str, list[str]]:
    """The packages that each extra of an installed package brings."""
    needed: dict[str, list[str]] = {}
    for entry in requires(package) or ():
        match = _OF_EXTRA.match(entry)
        if match is None:
            continue
        names = needed.setdefault(match["extra"], [])
        names.append(match["name"])
        if match["extras"] and _is_installed(match["name"]):
            of_extras = _needed(match["name"])
            for extra in match["extras"].split(","):
                names += of_extras.get(extra, ())
    return needed


def _is_installed(name: str) -> bool:
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False


def _describe_cache() -> str:
    folder = cache_folder()
    if folder is None:
        return "off"
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    size = sum(file.stat().st_size for file in files) / 2**20
    return f"{folder}, {len(files)} files, {size:.0f} MiB"


def _train_step() -> None:
    layer = Linear(4, 1)
    optimizer = SGD(layer.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        loss = (layer(ones(2, 4)) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if not losses[0] > losses[-1] >= 0:
        raise ArithmeticError(f"the loss does not fall: {losses}")


def _run_graph() -> None:
    class Forward(Graph):
        def __init__(self) -> None:
            super().__init__()
            self.layer = Linear(4, 1)

        def build(self, x: Tensor) -> Tensor:
            return self.layer(x)

    graph, x = Forward(), ones(2, 4)
    np.testing.assert_allclose(graph(x).numpy(), graph.layer(x).numpy(), rtol=1e-5)


def _split_tensor() -> None:
    ranks = range(min(2, len(platform_devices("cpu"))))
    x = to_global(ones(4, 2), Placement("cpu", list(ranks)), split(0))
    if x.sum().item() != x.numel():
        raise ArithmeticError("the sum of a tensor of ones is not their number")


CHECKS: dict[str, Callable[[], None]] = {
    "eager training": _train_step,
    "a compiled graph": _run_graph,
    "a tensor split over devices": _split_tensor,
}


def checks() -> Iterator[str]:
    """Yield a line for each check: how long it took, or its error."""
    for name, check in CHECKS.items():
        start = time.perf_counter()
        try:
            check()
        except Exception as error:
            yield f"{name}: FAILED, {type(error).__name__}: {error}"
        else:
            yield f"{name}: works ({time.perf_counter() - start:.1f} s)"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; the exit status is 1 if a check fails."""
    parser = CommandParser(
        prog="python -m oneflow doctor",
        description="Describe this installation, and try it: a report for a bug report.",
    )
    parser.add_argument("--no-checks", action="store_true", help="only describe, run nothing")
    options = parser.parse_args(arguments)
    has_failed = False
    for line in report():
        sys.stdout.write(f"{line}\n")
    for line in () if options.no_checks else checks():
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        has_failed |= ": FAILED" in line
    if has_failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
