"""The control plane of a job: it starts, connects, supervises and ends the processes.

Each process runs an agent, which is connected to the coordinator in rank 0 and reports the
collective operations that the process has started, its failure and its end. From these reports the
coordinator sees when a rank has died, runs another program than the others, or blocks them, and
aborts the job with the root cause. Nothing here handles tensors.
"""
