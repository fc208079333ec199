"""``functorch``, which comes with PyTorch: ``torch.func``, and older functions."""

from oneflow.func import (
    grad as grad,
    grad_and_value as grad_and_value,
    hessian as hessian,
    jacfwd as jacfwd,
    jacrev as jacrev,
    jvp as jvp,
    vjp as vjp,
    vmap as vmap,
)
from oneflow.mock_torch.functorch.stateless import (
    FunctionalModule as FunctionalModule,
    FunctionalModuleWithBuffers as FunctionalModuleWithBuffers,
    combine_state_for_ensemble as combine_state_for_ensemble,
    make_functional as make_functional,
    make_functional_with_buffers as make_functional_with_buffers,
)
from oneflow.mock_torch.pytorch.func import functionalize as functionalize

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "vjp",
    "vmap",
]
