"""``oneflow completion bash``: the commands, completed by a shell."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from oneflow.base.command_parser import CommandParser
from oneflow.command_line.commands import COMMANDS

# The first word is a command, the others are files; `{commands}` stands for the names.
SHELLS = {
    "bash": """\
_oneflow() {{
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{commands}" -- "${{COMP_WORDS[1]}}"))
    fi
}}
complete -o default -F _oneflow oneflow
""",
    "zsh": """\
autoload -Uz compinit && compinit
_oneflow() {{
    if (( CURRENT == 2 )); then compadd {commands}; else _files; fi
}}
compdef _oneflow oneflow
""",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what a shell evaluates in its start-up file."""
    parser = CommandParser(
        prog="python -m oneflow completion",
        description='Print completion for a shell: eval "$(oneflow completion bash)".',
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    options = parser.parse_args(arguments)
    sys.stdout.write(SHELLS[options.shell].format(commands=" ".join(COMMANDS)))


if __name__ == "__main__":
    main()
