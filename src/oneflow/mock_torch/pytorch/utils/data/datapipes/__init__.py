"""``torch.utils.data.datapipes``: data sets that read from one another."""

from oneflow.mock_torch.pytorch.utils.data.datapipes import iter as iter, map as map
