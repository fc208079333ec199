"""The eager virtual machine: runs recorded programs, op by op at first, compiled when hot."""

from oneflow.runtime import (
    garbage_collection as _garbage_collection,  # first: spares the rest of the import
    startup as _startup,  # sets options of JAX, joins a job
)
