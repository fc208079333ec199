"""``torch.distributed.checkpoint.default_planner``: which keys are loaded and saved.

This package decides which process writes which part.
"""

from __future__ import annotations


class DefaultSavePlanner:
    """The plan of a save: everything, once.

    Args:
        flatten_state_dict: accepted; nested state dicts are saved as they are.
        flatten_sharded_tensors: accepted; there are none within global tensors.
        dedup_replicated_tensors: accepted; what several processes hold alike is written once.
        dedup_save_to_lowest_rank: accepted.
        enable_plan_caching: accepted.
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict


class DefaultLoadPlanner:
    """The plan of a load: the keys that are read.

    Args:
        flatten_state_dict: accepted; nested state dicts are loaded as they are.
        flatten_sharded_tensors: accepted; there are none within global tensors.
        allow_partial_load: keys that the checkpoint lacks keep their values.
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.allow_partial_load = allow_partial_load


__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]
