"""Pruning: masks set elements of parameters to zero.

A pruned parameter ``weight`` is kept as ``weight_orig``, its mask as the buffer ``weight_mask``;
``weight`` itself is their product, computed anew before every call of the module.
"""

from oneflow.nn.utils.prune.base import (
    BasePruningMethod as BasePruningMethod,
    PruningContainer as PruningContainer,
)
from oneflow.nn.utils.prune.functions import (
    custom_from_mask as custom_from_mask,
    global_unstructured as global_unstructured,
    identity as identity,
    is_pruned as is_pruned,
    l1_unstructured as l1_unstructured,
    ln_structured as ln_structured,
    random_structured as random_structured,
    random_unstructured as random_unstructured,
    remove as remove,
)
from oneflow.nn.utils.prune.methods import (
    CustomFromMask as CustomFromMask,
    Identity as Identity,
    L1Unstructured as L1Unstructured,
    LnStructured as LnStructured,
    RandomStructured as RandomStructured,
    RandomUnstructured as RandomUnstructured,
)

# PyTorch's names, which pruning methods of programs call.
from oneflow.nn.utils.prune.methods import (  # isort: skip
    count_of as _compute_nparams_toprune,
    slice_norms as _compute_norm,
    validate_amount as _validate_pruning_amount_init,
    validate_amount_of as _validate_pruning_amount,
    validate_slices as _validate_structured_pruning,
)
