"""The list of features is complete and says truly what is tested."""

from __future__ import annotations

from tools.make_features import PAGE, features, features_with_tests, page


def test_every_feature_of_a_test_is_listed() -> None:
    ids = [row.id for row in features()]
    assert len(ids) == len(set(ids))
    assert not sorted(set(features_with_tests()) - set(ids))


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf8") == page(), "run `make stubs`"
