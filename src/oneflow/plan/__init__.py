"""The planner: costs of a step on many devices, without the devices: ``python -m oneflow.plan``."""

from oneflow.plan.chip_file import register_chips as register_chips
from oneflow.plan.plan import Plan as Plan, plan_graph as plan_graph
from oneflow.primitives.cost.chips import (
    Chip as Chip,
    chip_named as chip_named,
    chip_names as chip_names,
    register_chip as register_chip,
)
from oneflow.runtime.planning_mode import planning as planning
