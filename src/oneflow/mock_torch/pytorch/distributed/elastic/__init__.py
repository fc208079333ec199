"""``torch.distributed.elastic``: the launcher is `oneflow.distributed.launch`."""
