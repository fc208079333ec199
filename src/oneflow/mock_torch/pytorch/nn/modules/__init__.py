"""Names that ``torch.nn.modules`` has beside `oneflow.nn.modules`."""

from oneflow.nn import Module
