"""The data set and functions of a loader on their way to worker processes.

Plain pickle sends classes and functions as their names, which the worker imports. Cloudpickle
sends by value the objects that pickle refuses, and those that the user's script defines. So
lambdas, local classes, classes of notebooks, and scripts without `if __name__ == "__main__":`
work. Open files, arrays in mapped files and locks arrive as a copy of the process would have
them: opened again, mapped, free.
"""

from __future__ import annotations

import ast
import copyreg
import importlib
import io
import pickle
import sys
import tokenize
from collections import ChainMap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from oneflow.base.process_settings import current_settings
from oneflow.data.dataset import sending_to_workers
from oneflow.data.file_objects import FILE_OBJECTS
from oneflow.data.messages import DataMessage

_PROTOCOL_METHODS = ("__getstate__", "__setstate__", "__reduce__", "__reduce_ex__")


@dataclass(frozen=True)
class WorkerMessage:
    """The message that a worker process gets at its start.

    Attributes:
        message: the content.
        imports_script: whether the process must import the user's script.
        classes: the classes that the content holds as values, by module and name.
    """

    message: DataMessage
    imports_script: bool = False
    classes: dict[tuple[str, str], type] = field(default_factory=dict)

    def find_class(self, module: str, name: str) -> type | None:
        """Return the class that is called so here, if there is one."""
        if (module, name) in self.classes:
            return self.classes[module, name]
        attribute: Any = sys.modules.get(module)
        for part in name.split("."):
            attribute = getattr(attribute, part, None)
        return attribute


def pack(content: Any, failed: set[type]) -> WorkerMessage:
    """Pickle something for worker processes.

    Args:
        content: what to send.
        failed: classes whose own way of being pickled has failed. As in a copy of the process,
            their objects arrive with the attributes that they have.

    Raises:
        RuntimeError: neither pickle nor cloudpickle takes it.
    """
    try:
        plain = _pickle(_PlainPickler, content, failed)
    except Exception as error:
        plain, problem = None, error
    else:
        if not _uses_script(plain):
            return plain
        problem = None
    try:
        by_value: Any = importlib.import_module("oneflow.data.by_value")
        packed = _pickle(by_value.ByValuePickler, content, failed)
    except Exception as error:
        if plain is not None and _script_has_guard():
            return replace(plain, imports_script=True)
        new = failing_classes(problem or error) - failed
        if new:
            return pack(content, failed | new)
        raise _pickling_error(error) from error
    # A worker imports the script, because settings that it makes in other modules must hold, too.
    return replace(packed, imports_script=_uses_script(packed) and _script_has_guard())


def _uses_script(packed: WorkerMessage) -> bool:
    return b"__main__" in packed.message.parts[0].tobytes()


def _pickling_error(error: Exception) -> RuntimeError:
    return RuntimeError(
        f"the data set cannot be sent to worker processes: {type(error).__name__}: {error}. Let it "
        "open files and connections in the worker, when the first sample is asked for; or take "
        "`multiprocessing_context='fork'` before tensors are used; or `num_workers=0`"
    )


class _PlainPickler(pickle.Pickler):
    dispatch_table = copyreg.dispatch_table


def _pickle(kind: Any, content: Any, failed: set[type]) -> WorkerMessage:
    """Return three pickles that share objects, for `unpack`."""
    stream, buffers = io.BytesIO(), []
    reduce_by_type: dict[type, Any] = dict.fromkeys(failed, _reduce_by_attributes)
    # A pickler takes its table from its class when it is made.
    table = ChainMap(reduce_by_type, FILE_OBJECTS, kind.dispatch_table)
    pickler = type(kind.__name__, (kind,), {"dispatch_table": table})(
        stream, protocol=5, buffer_callback=buffers.append
    )
    pickler.dump(current_settings())
    with sending_to_workers():
        pickler.dump(content)
    pickler.dump(getattr(pickler, "script_names", {}))
    message = DataMessage([stream.getbuffer(), *(buffer.raw() for buffer in buffers)])
    return WorkerMessage(message, classes=getattr(pickler, "classes", {}))


def unpack(parts: Sequence[memoryview]) -> Any:
    """Unpack an object, after taking over the settings of the process that packed it.

    The script's definitions become the worker's `__main__`, so that batches may consist of them.
    """
    unpickler = pickle.Unpickler(io.BytesIO(parts[0]), buffers=iter(parts[1:]))
    for take_over, setting in unpickler.load():
        take_over(setting)
    content = unpickler.load()
    vars(sys.modules["__main__"]).update(unpickler.load())
    return content


def failing_classes(error: BaseException) -> set[type]:
    """Return the classes whose own way of being pickled or unpickled an exception came out of."""
    classes, trace = set(), error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code.co_name in _PROTOCOL_METHODS and frame.f_code.co_argcount:
            classes.add(type(frame.f_locals[frame.f_code.co_varnames[0]]))
        trace = trace.tb_next
    return {cls for cls in classes if _is_of_attributes(cls)}


def _is_of_attributes(kind: type) -> bool:
    """Return whether attributes are all that an object has: no base class is made in C."""
    return all("__module__" in vars(base) for base in kind.__mro__ if base is not object)


def _reduce_by_attributes(value: Any) -> tuple[Any, ...]:
    state = object.__getstate__(value)
    return object.__new__, (type(value),), state, None, None, _set_attributes


def _set_attributes(value: Any, state: Any) -> None:
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    for name, item in {**(attributes or {}), **(slots or {})}.items():
        object.__setattr__(value, name, item)


def _script_has_guard() -> bool:
    """Return whether the user's script can be imported: its work is under a test of `__name__`."""
    path = getattr(sys.modules["__main__"], "__file__", None)
    if path is None:
        return False
    try:
        with tokenize.open(path) as file:
            statements = ast.parse(file.read()).body
    except (OSError, SyntaxError, UnicodeError):
        return False
    tests = (statement.test for statement in statements if isinstance(statement, ast.If))
    return any(
        isinstance(node, ast.Name) and node.id == "__name__"
        for test in tests
        for node in ast.walk(test)
    )
