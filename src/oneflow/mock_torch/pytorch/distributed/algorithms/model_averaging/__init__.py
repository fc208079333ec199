"""``torch.distributed.algorithms.model_averaging``: means of the parameters of several models."""

from oneflow.mock_torch.pytorch.distributed.algorithms.model_averaging import (
    averagers as averagers,
    hierarchical_model_averager as hierarchical_model_averager,
    utils as utils,
)
