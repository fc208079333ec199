"""The Python domain of Sphinx, which finds what a mention means by the last part of its name.

Sphinx looks through all names for each mention of a type, which takes a quarter of the time that
the documentation needs. And it takes `bool` in a signature for `oneflow.bool`.
"""

from __future__ import annotations

import builtins
import inspect
from collections import defaultdict
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from sphinx.domains.python import ObjectEntry, PythonDomain

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_ROLES_OF_TYPES = ("class", "obj", "exc")


class IndexedPythonDomain(PythonDomain):
    """Finds the same objects as `PythonDomain`, among those whose names end as the mention does.

    Only mentions of Python's own types by their bare names, as `float`, mean nothing that is
    documented here: data types have the same names.
    """

    _indexed = -1  # the number of objects in the index
    _by_last_part: dict[str, dict[str, ObjectEntry]]

    def find_obj(
        self, env: Any, modname: str, classname: str, name: str, *args: Any, **kwargs: Any
    ) -> list[tuple[str, ObjectEntry]]:
        """Return what a name may mean in a module and a class, by the full name."""
        if self._indexed != len(self.objects):
            self._by_last_part = defaultdict(dict)
            for full_name, entry in self.objects.items():
                self._by_last_part[full_name.rpartition(".")[2]][full_name] = entry
            self._indexed = len(self.objects)
        last_part = name.removesuffix("()").rpartition(".")[2]
        alike: Any = SimpleNamespace(
            objects=self._by_last_part.get(last_part, {}),
            object_types=self.object_types,
            objtypes_for_role=self.objtypes_for_role,
        )
        return PythonDomain.find_obj(alike, env, modname, classname, name, *args, **kwargs)

    def resolve_xref(
        self,
        env: Any,
        fromdocname: str,
        builder: Any,
        type: str,
        target: str,
        node: Any,
        contnode: Any,
    ) -> Any:
        """Return the link of a mention, or None: Sphinx then shows the text as it is."""
        if type in _ROLES_OF_TYPES and inspect.isclass(getattr(builtins, target, None)):
            return None
        return super().resolve_xref(env, fromdocname, builder, type, target, node, contnode)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the domain."""
    app.add_domain(IndexedPythonDomain, override=True)
    return {"parallel_read_safe": True}
