"""``python -m oneflow``: the list of commands."""

from oneflow.command_line.commands import main

if __name__ == "__main__":
    main()
