"""Objects of other classes in files: texts stay whole, views share memory."""

from __future__ import annotations

import enum
import io
import pickle
import types

import pytest
import torch

import oneflow as flow


class Mode(enum.StrEnum):
    FAST = "fast"


class Settings:
    """An object that holds nothing of tensors."""


@pytest.mark.parametrize("value", [Mode.FAST, b"ab", bytearray(b"ab")], ids=repr)
def test_texts_are_no_sequences(tmp_path, value) -> None:
    flow.save({"value": value}, tmp_path / "file", pickle_module=pickle)
    assert flow.load(tmp_path / "file", weights_only=False)["value"] == value


@pytest.mark.parametrize("first", ["object", "tensors"])
def test_views_in_a_trusted_file_share_memory(tmp_path, first) -> None:
    x = torch.arange(6.0).view(2, 3)
    content = {"object": Settings(), "a": x, "b": x.view(-1)}
    if first == "tensors":
        content["object"] = content.pop("object")
    file = io.BytesIO()
    torch.save(content, file)
    (tmp_path / "file.pt").write_bytes(file.getvalue())
    loaded = flow.load(tmp_path / "file.pt", weights_only=False)
    loaded["a"][0, 0] = 5.0
    assert loaded["b"][0].item() == 5.0


class _Refused(pickle.Unpickler):
    """A reader of pickles that knows one class only."""

    def find_class(self, module_name: str, global_name: str) -> type:
        if global_name != "Settings":
            raise pickle.UnpicklingError(f"{global_name} is unknown")
        return dict


@pytest.mark.parametrize("library", [flow, torch])
def test_pickles_are_read_by_the_module_that_is_given(library) -> None:
    own = types.SimpleNamespace(Unpickler=_Refused)
    for content, expected in ((Settings(), {}), (Mode.FAST, None)):
        file = io.BytesIO()
        library.save(content, file, pickle_module=pickle)
        file.seek(0)
        if expected is None:
            with pytest.raises((RuntimeError, pickle.UnpicklingError), match="Mode is unknown"):
                flow.load(file, weights_only=False, pickle_module=own)
        else:
            assert flow.load(file, weights_only=False, pickle_module=own) == expected
