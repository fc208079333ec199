"""``torch.utils.collect_env``: what bug reports say about the machine and the installation."""

from __future__ import annotations

import locale
import re
import subprocess
from collections.abc import Callable, Sequence

from oneflow.command_line.doctor import report

Run = Callable[[str | Sequence[str]], tuple[int, str, str]]


def run(command: str | Sequence[str]) -> tuple[int, str, str]:
    """Run a command; texts go through the shell.

    Returns:
        The exit status, and what it wrote to the output and to the error output.
    """
    encoding = locale.getpreferredencoding(False)
    done = subprocess.run(
        command,
        capture_output=True,
        check=False,
        shell=isinstance(command, str),
        encoding=encoding,
        errors="replace",
    )
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def _output(run_lambda: Run, command: str) -> str | None:
    """The output of a command; None if it fails."""
    status, output, _ = run_lambda(command)
    return None if status else output


def get_cpu_info(run_lambda: Run) -> str:
    """Return what ``lscpu`` says of the processors, or its error."""
    status, output, error = run_lambda("lscpu")
    return error if status else output


def get_gpu_info(run_lambda: Run) -> str | None:
    """Return the names of NVIDIA's GPUs, without their identifiers; None if there are none."""
    output = _output(run_lambda, "nvidia-smi -L")
    return output and re.sub(r" \(UUID: .+?\)", "", output)


def get_nvidia_driver_version(run_lambda: Run) -> str | None:
    """Return the version of NVIDIA's driver; None if there is none."""
    output = _output(run_lambda, "nvidia-smi")
    match = re.search(r"Driver Version: (\S+)", output or "")
    return match and match.group(1)


def get_gcc_version(run_lambda: Run) -> str | None:
    """Return the version of the C compiler; None if there is none."""
    output = _output(run_lambda, "gcc --version")
    match = re.search(r"gcc (.*)", output or "")
    return match and match.group(1)


def get_pretty_env_info() -> str:
    """Return the report of ``python -m oneflow doctor``, without its checks."""
    return "\n".join(report())


def main() -> None:
    """Print it."""
    print(get_pretty_env_info())  # noqa: T201


__all__ = [
    "get_cpu_info",
    "get_gcc_version",
    "get_gpu_info",
    "get_nvidia_driver_version",
    "get_pretty_env_info",
    "main",
    "run",
]

if __name__ == "__main__":
    main()
