"""`python -m oneflow.serving`: see `oneflow.serving.command_line`."""

from __future__ import annotations

import sys

try:
    from oneflow.serving.command_line import main
except ModuleNotFoundError as error:
    sys.exit(str(error))

if __name__ == "__main__":
    main()
