"""The planner: costs of a step on many devices, without the devices: ``python -m oneflow.plan``."""

from oneflow.plan.plan import Plan as Plan, plan_graph as plan_graph
from oneflow.runtime.planning_mode import planning as planning
