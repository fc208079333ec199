"""Records of OFRecord files as protocol buffer messages: `oneflow.core.record.record_pb2`.

`flow.data` reads and writes such files itself; programs that make their own write these messages.
"""

from __future__ import annotations

from typing import Any

from oneflow.base.extras import extra

with extra("onerec", "`oneflow.core.record`"):
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD: Any = descriptor_pb2.FieldDescriptorProto
# The lists of a feature, with their numbers in it.
_LISTS = {
    "BytesList": ("bytes_list", 1, _FIELD.TYPE_BYTES),
    "FloatList": ("float_list", 2, _FIELD.TYPE_FLOAT),
    "DoubleList": ("double_list", 3, _FIELD.TYPE_DOUBLE),
    "Int32List": ("int32_list", 4, _FIELD.TYPE_INT32),
    "Int64List": ("int64_list", 5, _FIELD.TYPE_INT64),
}


def _file() -> Any:
    """The description of the messages, as a compiler of `.proto` files would write it."""
    file: Any = descriptor_pb2.FileDescriptorProto(
        name="oneflow/core/record/record.proto", package="oneflow", syntax="proto2"
    )
    feature = descriptor_pb2.DescriptorProto(name="Feature")
    feature.oneof_decl.add(name="kind")
    for name, (field, number, kind) in _LISTS.items():
        values = file.message_type.add(name=name).field.add(
            name="value", number=1, label=_FIELD.LABEL_REPEATED, type=kind
        )
        values.options.packed = kind != _FIELD.TYPE_BYTES
        _add_message(feature, field, number, f".oneflow.{name}").oneof_index = 0
    file.message_type.append(feature)
    record = file.message_type.add(name="OFRecord")
    entry = record.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=_FIELD.LABEL_OPTIONAL, type=_FIELD.TYPE_STRING)
    _add_message(entry, "value", 2, ".oneflow.Feature")
    features = _add_message(record, "feature", 1, ".oneflow.OFRecord.FeatureEntry")
    features.label = _FIELD.LABEL_REPEATED
    return file


def _add_message(message: Any, name: str, number: int, kind: str) -> Any:
    return message.field.add(
        name=name,
        number=number,
        label=_FIELD.LABEL_OPTIONAL,
        type=_FIELD.TYPE_MESSAGE,
        type_name=kind,
    )


# The messages are not in the pool of all programs: another package may have described the same
# messages.
_POOL = descriptor_pool.DescriptorPool()
_POOL.Add(_file())


def _message(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"oneflow.{name}"))


BytesList, FloatList, DoubleList = map(_message, ("BytesList", "FloatList", "DoubleList"))
Int32List, Int64List = map(_message, ("Int32List", "Int64List"))
Feature, OFRecord = map(_message, ("Feature", "OFRecord"))
