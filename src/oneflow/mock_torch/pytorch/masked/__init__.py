"""``torch.masked``: functions of the elements that a mask keeps, and tensors with a mask."""

from oneflow.mock_torch.pytorch.masked_functions import (
    amax as amax,
    amin as amin,
    argmax as argmax,
    argmin as argmin,
    cumprod as cumprod,
    cumsum as cumsum,
    log_softmax as log_softmax,
    logaddexp as logaddexp,
    logsumexp as logsumexp,
    mean as mean,
    median as median,
    norm as norm,
    normalize as normalize,
    prod as prod,
    softmax as softmax,
    softmin as softmin,
    std as std,
    sum as sum,
    var as var,
)
from oneflow.mock_torch.pytorch.masked_tensor import (
    MaskedTensor as MaskedTensor,
    as_masked_tensor as as_masked_tensor,
    is_masked_tensor as is_masked_tensor,
    masked_tensor as masked_tensor,
)
