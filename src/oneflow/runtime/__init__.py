"""The eager virtual machine: runs recorded programs, op by op at first, compiled when hot."""

from oneflow.runtime import (
    garbage_collection as _garbage_collection,  # removes a callback of JAX
    start_up as _start_up,  # sets options of JAX, joins a job
)
