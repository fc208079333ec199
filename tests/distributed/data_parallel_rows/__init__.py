"""Small models that are trained data parallel, by their names."""

from tests.distributed.data_parallel_rows import (
    buffers as buffers,
    comm_hooks as comm_hooks,
    optimizers as optimizers,
    parameters as parameters,
    results as results,
    steps as steps,
    synchronized as synchronized,
)
from tests.distributed.data_parallel_rows.synchronized import JointStatistics as JointStatistics
from tests.distributed.data_parallel_rows.training import (
    ROWS as ROWS,
    STEPS as STEPS,
    fill as fill,
    inputs as inputs,
)

__all__ = ["ROWS", "STEPS", "JointStatistics", "fill", "inputs"]
