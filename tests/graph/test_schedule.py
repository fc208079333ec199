"""The order of tasks in a pipeline, and how programs are cut into tasks."""

import itertools

import pytest

import oneflow as flow
from oneflow.graph.schedule import (
    assumed_duration,
    idle_fraction,
    one_forward_one_backward,
    stages_of,
    timeline,
)
from oneflow.passes.partition import BACKWARD, FORWARD, UPDATE, Phase, PipelineTask


def chain(stages, batches, trains=True):
    """The tasks of a plain pipeline, in the order in which they are recorded."""
    places = [flow.placement("cpu", [rank]) for rank in range(stages)]
    tasks, at = [], {}

    def add(stage, phase, *needs):
        at[stage, phase] = len(tasks)
        tasks.append(PipelineTask(places[stage], phase, dependencies={at[need] for need in needs}))

    for batch in range(batches):
        forward, backward = Phase(FORWARD, batch), Phase(BACKWARD, batch)
        for stage in range(stages):
            add(stage, forward, *([(stage - 1, forward)] if stage else []))
        for stage in reversed(range(stages)) if trains else ():
            later = [(stage + 1, backward)] if stage < stages - 1 else []
            add(stage, backward, (stage, forward), *later)
    for stage in range(stages) if trains else ():
        add(stage, Phase(UPDATE), *[(stage, Phase(BACKWARD, batch)) for batch in range(batches)])
    return tasks


def held(tasks, slots, stage):
    """The most micro batches of which a stage keeps activations."""
    most, now = 0, set()
    for slot in slots:
        task = tasks[slot.task]
        if task.placement is stage and task.phase.kind != UPDATE:
            (now.add if task.phase.kind == FORWARD else now.discard)(task.phase.micro_batch)
            most = max(most, len(now))
    return most


@pytest.mark.parametrize("stages", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("batches", [1, 2, 5, 16])
def test_the_schedule_has_the_least_bubble_and_keeps_few_activations(stages, batches):
    tasks = chain(stages, batches)
    slots = one_forward_one_backward(tasks)
    assert sorted(slot.task for slot in slots) == list(range(len(tasks)))
    ends = {slot.task: slot.end for slot in slots}
    for slot in slots:
        assert all(ends[need] <= slot.start for need in tasks[slot.task].dependencies)
    # Three units of time per micro batch, and the way of the first to the last stage and back.
    assert max(ends.values()) == 3 * (batches + stages - 1)
    idle = idle_fraction(tasks, slots)
    assert all(
        share == pytest.approx((stages - 1) / (stages - 1 + batches)) for share in idle.values()
    )
    for number, stage in enumerate(stages_of(tasks)):
        assert held(tasks, slots, stage) == min(stages - number, batches)


def test_a_device_runs_one_task_at_a_time():
    tasks = chain(4, 8)
    shared = flow.placement("cpu", [1])
    for task in tasks:
        if task.placement.flat == (3,):
            task.placement = shared
    slots = one_forward_one_backward(tasks)
    mine = [slot for slot in slots if tasks[slot.task].placement is shared]
    assert all(one.end <= other.start for one, other in itertools.pairwise(mine))


def test_inference_fills_the_pipeline():
    tasks = chain(3, 5, trains=False)
    assert max(slot.end for slot in one_forward_one_backward(tasks)) == 7


def test_other_durations_keep_the_order():
    tasks = chain(2, 4)
    slots = one_forward_one_backward(tasks)
    same = timeline(tasks, slots, assumed_duration)
    assert [slot.start for slot in same] == [slot.start for slot in slots]
    slow = timeline(tasks, slots, lambda task: 2 * assumed_duration(task))
    assert [slot.task for slot in slow] == [slot.task for slot in slots]
    assert slow[-1].end == 2 * slots[-1].end
