"""``python -m oneflow_onnx``: the command line."""

import sys

from oneflow_onnx.command import main

if __name__ == "__main__":
    sys.exit(main())
