"""``torch.distributed.elastic``: the launcher is `oneflow.distributed.launch`."""

__all__: list[str] = []
