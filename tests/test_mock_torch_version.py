"""``torch.__version__`` in PyTorch's place is compared as PyTorch's own."""

from __future__ import annotations

import copy
import operator
import pickle
from typing import Any

import pytest
import torch
from torch.torch_version import TorchVersion

from tests.in_place import in_place_of

VERSIONS = [
    "1",
    "1.0",
    "1.0.0",
    "2.9",
    "2.13",
    "2.13.0",
    "2.13.0+cpu",
    "2.13.0+cu128",
    "2.13.0+cu12.8",
    "2.13.0+7",
    "v2.13",
    "2.13.0a0",
    "2.13.0a0+git12ab",
    "2.13.0.dev20260101",
    "2.13.0rc1",
    "2.13rc1.dev2",
    "2.13-1",
    "2.13.post2",
    "2.13.post2.dev1",
    "2.13.0-alpha",
    "2.13b",
    "2.13.1",
    "3",
    "0!2.13",
    "1!0",
    "parrot",
    "2.x",
]
OTHERS: list[Any] = [
    *VERSIONS,
    "",
    (2, 9),
    (2, 13),
    [2, 13, 0],
    (2, 13, 1),
    (2, "13rc1"),
    2,
    2.9,
    None,
]
COMPARISONS = [getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")]


def _answer(compare: Any, version: Any, other: Any) -> Any:
    try:
        return compare(version, other)
    except TypeError:
        return TypeError


@pytest.mark.parametrize("compare", COMPARISONS, ids=lambda compare: compare.__name__)
def test_versions_are_compared_as_pytorchs(compare: Any) -> None:
    ours = in_place_of("torch.torch_version").TorchVersion
    unlike = [
        (version, other)
        for version in VERSIONS
        for other in OTHERS
        if _answer(compare, ours(version), other) != _answer(compare, TorchVersion(version), other)
        or _answer(compare, other, ours(version)) != _answer(compare, other, TorchVersion(version))
    ]
    assert not unlike


def test_the_version_is_a_text_that_knows_its_order() -> None:
    mocked = in_place_of("torch")
    for library in (mocked, torch):
        version = library.__version__
        assert version >= "2.9"
        assert version > (2, 9)
        assert type(version) is library.torch_version.TorchVersion
        assert isinstance(version, str)
        assert type(library.version.__version__) is str
        assert hash(version) == hash(str(version))
        assert {version: 1}[library.version.__version__] == 1
    for copied in (
        copy.deepcopy(mocked.__version__),
        pickle.loads(pickle.dumps(mocked.__version__)),
    ):
        assert type(copied) is mocked.torch_version.TorchVersion
        assert copied == mocked.__version__
