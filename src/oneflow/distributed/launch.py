"""Starts a script as several processes that train together.

Example:
    ``python -m oneflow.distributed.launch --nproc_per_node 2 train.py --epochs 3``
"""

from __future__ import annotations

from argparse import REMAINDER as REMAINDER

from oneflow.launcher.command import main as main, parse_args as parse_args

stdout_filename = "stdout"
stderr_filename = "stderr"
