r"""The launcher: starts a script in several processes that form a job.

Examples, the last for the second of two machines::

    python -m oneflow.distributed.launch --nproc_per_node 2 train.py --epochs 3
    python -m oneflow.distributed.launch --nproc_per_node 2 --module project.train
    python -m oneflow.distributed.launch --nproc_per_node 2 --no_python ./train.sh
    python -m oneflow.distributed.launch --logdir logs --redirect_stdout_and_stderr train.py
    python -m oneflow.distributed.launch --nnodes 2 --node_rank 1 --nproc_per_node 4 \
        --master_addr 10.0.0.1 --master_port 29500 train.py
"""

from __future__ import annotations

import sys
from argparse import REMAINDER as REMAINDER

from oneflow.control_plane.launcher.command import main as main, parse_args as parse_args

stdout_filename = "stdout"
stderr_filename = "stderr"

if __name__ == "__main__":
    sys.exit(main())
