"""The law of absent gradients in two processes: global tensors, ZeRO, pipelines."""

from tests.graph.test_absent_gradients import CASES, OPTIMIZERS, check

for name, case in CASES.items():
    if case.is_global or case.is_split or case.is_pipeline:
        for optimizer in OPTIMIZERS:
            try:
                check(case, optimizer)
            except Exception as error:
                raise AssertionError(f"{name}, {optimizer}") from error
