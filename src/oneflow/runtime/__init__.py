"""The eager virtual machine: runs recorded programs, op by op at first, compiled when hot."""

from oneflow.runtime import collection_pause as _collection_pause  # first: for all that follows

# isort: split
from oneflow.runtime import (
    garbage_collection as _garbage_collection,  # removes a callback of JAX
    startup as _startup,  # sets options of JAX, joins a job
)
