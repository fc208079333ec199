"""``torch.utils.collect_env``: what bug reports say about the machine and the installation."""

from __future__ import annotations

from oneflow.command_line.doctor import report


def get_pretty_env_info() -> str:
    """Return the report of ``python -m oneflow doctor``, without its checks."""
    return "\n".join(report())


def main() -> None:
    """Print it."""
    print(get_pretty_env_info())  # noqa: T201


__all__ = ["get_pretty_env_info", "main"]

if __name__ == "__main__":
    main()
