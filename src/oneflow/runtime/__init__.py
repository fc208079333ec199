"""The eager virtual machine: runs recorded programs, op by op while they are new, compiled once they are hot."""
