"""``python -m oneflow --doctor``: what a report of a problem should say about the machine."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import jax
import numpy as np

from oneflow.base import environment
from oneflow.base.device import DEVICE_TYPES, platform_devices
from oneflow.base.environment import EnvironmentVariable
from oneflow.base.replaced_variables import replaced_variables
from oneflow.tuning.threads import get_num_threads
from oneflow.version import __version__


def report() -> Iterator[str]:
    """Yield the lines of the report: versions, devices, threads, environment variables."""
    yield f"path: {Path(__file__).parents[1]}"
    yield f"version: {__version__}"
    yield f"python: {platform.python_version()} on {platform.platform()}"
    yield f"jax: {jax.__version__}, jaxlib: {version('jaxlib')}, numpy: {np.__version__}"
    counts = {type: len(platform_devices(type)) for type in DEVICE_TYPES}
    yield "devices: " + ", ".join(f"{n} {type}" for type, n in counts.items() if n)
    yield f"threads: {get_num_threads()}"
    read = [each for each in vars(environment).values() if isinstance(each, EnvironmentVariable)]
    for each in read:
        if each.read() != each.default and each is not environment.SECRET:
            yield f"{each.name}={each.read()}"
    for name, place in replaced_variables().items():
        yield f"{name} is not read; in its place: {place}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m oneflow")
    parser.add_argument("--doctor", action="store_true", help="describe this installation")
    options = parser.parse_args(arguments)
    if not options.doctor:
        parser.print_help()
        return
    sys.stdout.writelines(f"{line}\n" for line in report())
