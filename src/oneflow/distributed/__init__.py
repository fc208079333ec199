"""Training in several processes: collective operations and data parallelism."""
