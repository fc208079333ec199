"""Names of ``torch.distributed.checkpoint.hf_storage``."""

from oneflow.mock_torch.missing import Sharded


class HuggingFaceStorageReader(Sharded):
    """The type of readers of sharded checkpoints."""


class HuggingFaceStorageWriter(Sharded):
    """The type of writers of sharded checkpoints."""


__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]
