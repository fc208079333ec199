"""Watching over the processes of a job, so that none waits for ever for another.

Each process has a connection to a hub in rank 0 and reports what it has come to: which collective
operations it has started, whether it has failed, whether it is done. The hub sees from that when a
rank has died, runs something else than the others, or is waited for in vain, and tells all
processes to end, with the reason. Nothing here touches tensors, nor JAX, whose place on the disk
alone is of use.
"""
