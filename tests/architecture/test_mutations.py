"""Every feature can be broken, so that `make mutants` can tell whether its test would notice."""

from __future__ import annotations

import pytest
from tools.make_features import features
from tools.mutate_rows.mutations import UNREACHABLE, Mutation, check, replace
from tools.mutate_rows.table import mutations


def test_every_feature_has_a_mutation() -> None:
    rows = [mutation.row for mutation in mutations()]
    assert set(rows) == {feature.id for feature in features()}
    ids = [feature.id for feature in features()]
    assert rows == sorted(rows, key=ids.index)


def test_every_mutation_has_a_target() -> None:
    wrong = []
    for mutation in mutations():
        try:
            check(mutation)
        except Exception as error:  # whatever a path that has moved leads to
            wrong.append(f"{mutation.row} {mutation.target}: {error}")
    assert wrong == []


def test_only_networks_of_other_frameworks_cannot_be_broken() -> None:
    rows = {mutation.row for mutation in mutations() if mutation.kind == UNREACHABLE}
    assert {row[:6] for row in rows} <= {"004-T1", "004-D1"}


def test_a_function_is_replaced_for_everybody_who_holds_it() -> None:
    factor = 3

    def times(x: int, by: int = factor) -> int:
        return x * by * factor

    held = times
    replace(times, lambda original, *args: original(*args) + 1)
    assert (held(2), held(2, 5)) == (19, 31)


@pytest.mark.parametrize(
    ("kind", "target"),
    [("zeros", "oneflow.nothing"), ("zeros", "nothing.at_all"), ("unknown", "oneflow.sin")],
)
def test_what_means_nothing_is_an_error(kind: str, target: str) -> None:
    with pytest.raises(Exception, match=r"nothing|must be one of"):
        check(Mutation("000-01", kind, target))
