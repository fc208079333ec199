"""The eager virtual machine: runs recorded programs, op by op at first, compiled when hot."""

from oneflow.runtime import startup as _startup  # sets options of JAX, joins a job
