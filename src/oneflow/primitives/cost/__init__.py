"""The cost model: the work of an operation, and estimates of its time."""
