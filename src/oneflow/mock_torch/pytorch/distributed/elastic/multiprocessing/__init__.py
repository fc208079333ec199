"""``torch.distributed.elastic.multiprocessing``: how processes of a job say that they failed."""
