"""Classes of protocol buffers from a table, without a compiler.

Generated code is bound to the versions of protobuf that it was generated for; descriptors made at
run time go with all of them. They live in a pool of their own, so that a client's generated
messages of the same names may be loaded beside them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from oneflow.base.extras import extra

with extra("serving", "`oneflow.serving`"):
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "bool": _FIELD.TYPE_BOOL,
    "bytes": _FIELD.TYPE_BYTES,
    "double": _FIELD.TYPE_DOUBLE,
    "float": _FIELD.TYPE_FLOAT,
    "int32": _FIELD.TYPE_INT32,
    "int64": _FIELD.TYPE_INT64,
    "string": _FIELD.TYPE_STRING,
    "uint32": _FIELD.TYPE_UINT32,
    "uint64": _FIELD.TYPE_UINT64,
}
_ROW = re.compile(
    r"(?:(?P<oneof>\w+)/)?(?P<name>\w+):(?P<map>map<)?(?P<type>[\w.]+)>?(?P<list>\*?)=(?P<number>\d+)"
)


def message_classes(
    package: str, enum_types: Mapping[str, str], messages: Mapping[str, str]
) -> dict[str, Any]:
    """Return the classes of messages by their names in the package.

    Args:
        package: the name of the package.
        enum_types: ``"NAME=0 OTHER=1"`` by the name of the enum; all of them at the top.
        messages: ``"name:type=number"`` for each field, by the name of the message, outer messages
            before those in them (``"Outer.Inner"``). ``type*`` is repeated, ``map<type>`` has
            strings as keys, and ``choice/name:type=number`` belongs to the ``oneof`` `choice`.
    """
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{package}.proto", package=package, syntax="proto3"
    )
    for name, rows in enum_types.items():
        enum = file.enum_type.add(name=name)
        for row in rows.split():
            value, number = row.split("=")
            enum.value.add(name=value, number=int(number))
    descriptors: dict[str, descriptor_pb2.DescriptorProto] = {}
    for name, rows in messages.items():
        outer, _, inner = name.rpartition(".")
        scope = descriptors[outer].nested_type if outer else file.message_type
        descriptors[name] = scope.add(name=inner)
        for match in _ROW.finditer(rows):
            _add_field(descriptors[name], f".{package}", name, enum_types, **match.groupdict())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in messages
    }


def _add_field(
    message: descriptor_pb2.DescriptorProto,
    package: str,
    path: str,
    enum_types: Mapping[str, str],
    **row: str,
) -> None:
    field = message.field.add(name=row["name"], number=int(row["number"]))
    field.label = _FIELD.LABEL_REPEATED if row["list"] or row["map"] else _FIELD.LABEL_OPTIONAL
    if row["oneof"]:
        names = [choice.name for choice in message.oneof_decl]
        if row["oneof"] not in names:
            message.oneof_decl.add(name=row["oneof"])
            names.append(row["oneof"])
        field.oneof_index = names.index(row["oneof"])
    if not row["map"]:
        _set_type(field, package, row["type"], enum_types)
        return
    # A map is a list of messages with a key and a value.
    entry = message.nested_type.add(name=f"{row['name'].title().replace('_', '')}Entry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=_FIELD.TYPE_STRING, label=_FIELD.LABEL_OPTIONAL)
    value = entry.field.add(name="value", number=2, label=_FIELD.LABEL_OPTIONAL)
    _set_type(value, package, row["type"], enum_types)
    field.type = _FIELD.TYPE_MESSAGE
    field.type_name = f"{package}.{path}.{entry.name}"


def _set_type(
    field: descriptor_pb2.FieldDescriptorProto,
    package: str,
    kind: str,
    enum_types: Mapping[str, str],
) -> None:
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type = _FIELD.TYPE_ENUM if kind in enum_types else _FIELD.TYPE_MESSAGE
        field.type_name = f"{package}.{kind}"
