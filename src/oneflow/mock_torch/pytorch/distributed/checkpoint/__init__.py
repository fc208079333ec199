"""``torch.distributed.checkpoint`` on this package's checkpoints, see `oneflow.save`."""

from oneflow.mock_torch.pytorch.distributed.checkpoint.api import (
    CheckpointException as CheckpointException,
)
from oneflow.mock_torch.pytorch.distributed.checkpoint.default_planner import (
    DefaultLoadPlanner as DefaultLoadPlanner,
    DefaultSavePlanner as DefaultSavePlanner,
)
from oneflow.mock_torch.pytorch.distributed.checkpoint.filesystem import (
    FileSystemReader as FileSystemReader,
    FileSystemWriter as FileSystemWriter,
)
from oneflow.mock_torch.pytorch.distributed.checkpoint.hf_storage import (
    HuggingFaceStorageReader as HuggingFaceStorageReader,
    HuggingFaceStorageWriter as HuggingFaceStorageWriter,
)
from oneflow.mock_torch.pytorch.distributed.checkpoint.state_dict_loader import (
    load as load,
    load_state_dict as load_state_dict,
)
from oneflow.mock_torch.pytorch.distributed.checkpoint.state_dict_saver import (
    async_save as async_save,
    save as save,
    save_state_dict as save_state_dict,
)
