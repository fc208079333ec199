"""Optimizers whose defaults and formulas are PyTorch's where OneFlow's differ."""

from oneflow.mock_torch.pytorch.optim.optimizers import (
    LBFGS as LBFGS,
    Adagrad as Adagrad,
    AdamW as AdamW,
    RMSprop as RMSprop,
)
from oneflow.mock_torch.pytorch.optim.stateless import (
    swap_in_optimizer_params_and_state as swap_in_optimizer_params_and_state,
)
