"""``torch.package.analyze``: what packages would need, and where objects come from."""

from oneflow.mock_torch.pytorch.package.analyze.find_first_use_of_broken_modules import (
    find_first_use_of_broken_modules as find_first_use_of_broken_modules,
)
from oneflow.mock_torch.pytorch.package.analyze.trace_dependencies import (
    trace_dependencies as trace_dependencies,
)
