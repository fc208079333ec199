"""Archives that hold code, objects and data together."""

from __future__ import annotations

import importlib.machinery
import inspect
import linecache
import platform
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import IO, Any

from oneflow.checkpoint.torch_pickler import SavedStorages
from oneflow.checkpoint.torch_writer import ARCHIVE_VERSION
from oneflow.mock_torch.pytorch.archives import PyTorchFileWriter
from oneflow.mock_torch.pytorch.package import _mock
from oneflow.mock_torch.pytorch.package._digraph import DiGraph
from oneflow.mock_torch.pytorch.package._mangling import demangle
from oneflow.mock_torch.pytorch.package._package_pickler import dump_with_importer, modules_in
from oneflow.mock_torch.pytorch.package.errors import (
    EmptyMatchError as EmptyMatchError,
    PackagingError as PackagingError,
    PackagingErrorReason as PackagingErrorReason,
)
from oneflow.mock_torch.pytorch.package.find_file_dependencies import find_files_source_depends_on
from oneflow.mock_torch.pytorch.package.glob_group import GlobGroup, GlobPattern
from oneflow.mock_torch.pytorch.package.importer import Importer, OrderedImporter, sys_importer
from oneflow.mock_torch.pytorch.package.module_actions import (
    MOCKED_SOURCE,
    Action,
    Pattern,
    is_standard_module,
)
from oneflow.module.hooks import Hooks, RemovableHandle

ActionHook = Callable[["PackageExporter", str], None]


class PackageExporter:
    """A package that is written; ``with`` closes it.

    For each module that code or pickles in it need, a pattern must say what is done: its source is
    put into the package (`intern`), it is taken from the process that reads the package (`extern`),
    or something that cannot be used stands for it (`mock`). The first pattern that was given holds.

    Args:
        f: path of the archive, or a file open for writing bytes.
        importer: where modules and the classes of objects are found: an importer, or several.
        debug: errors say by which modules others came.

    Raises:
        PackagingError: (when it is closed) no pattern holds for a module, or it cannot be packaged.
        EmptyMatchError: (when it is closed) a pattern that must match modules matches none.
    """

    def __init__(
        self,
        f: Any,
        importer: Importer | Sequence[Importer] = sys_importer,
        debug: bool = False,
    ) -> None:
        self.debug = debug
        self.buffer: IO[bytes] | None = None if isinstance(f, str | Path) else f
        self.zip_file = PyTorchFileWriter(f)
        self.dependency_graph = DiGraph()
        self.patterns: dict[GlobGroup, Pattern] = {}
        self.importer = importer if isinstance(importer, Importer) else OrderedImporter(*importer)
        self._hooks = {action: Hooks() for action in (Action.INTERN, Action.EXTERN, Action.MOCK)}
        self._storages, self._storage_count = SavedStorages(), 0
        # Objects that were replaced by code live as long as what stands for them.
        self._reduced: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        self._unique_ids: dict[str, int] = {}
        self._files: set[str] = set()
        self._is_closed = False

    # --- patterns

    def intern(
        self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True
    ) -> None:
        """Put the source of modules into the package.

        Args:
            include: patterns of names, see `GlobGroup`.
            exclude: patterns of names for which it does not hold.
            allow_empty: no module need match.
        """
        self._add_pattern(Action.INTERN, include, exclude, allow_empty)

    def extern(
        self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True
    ) -> None:
        """Take modules from the process that reads the package; arguments are those of `intern`."""
        self._add_pattern(Action.EXTERN, include, exclude, allow_empty)

    def mock(
        self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True
    ) -> None:
        """Leave modules out: using them is an error; arguments are those of `intern`."""
        self._add_pattern(Action.MOCK, include, exclude, allow_empty)

    def deny(self, include: GlobPattern, *, exclude: GlobPattern = ()) -> None:
        """Refuse a package that needs modules; arguments are those of `intern`."""
        self._add_pattern(Action.DENY, include, exclude, True)

    def _add_pattern(
        self, action: Action, include: GlobPattern, exclude: GlobPattern, allow_empty: bool
    ) -> None:
        self.patterns[GlobGroup(include, exclude=exclude)] = Pattern(action, allow_empty)

    def register_intern_hook(self, hook: ActionHook) -> RemovableHandle:
        """Call ``hook(exporter, module_name)`` for each module whose source is written."""
        return self._register_hook(Action.INTERN, hook)

    def register_extern_hook(self, hook: ActionHook) -> RemovableHandle:
        """Call ``hook(exporter, module_name)`` for each module of the reading process."""
        return self._register_hook(Action.EXTERN, hook)

    def register_mock_hook(self, hook: ActionHook) -> RemovableHandle:
        """Call ``hook(exporter, module_name)`` for each module that is left out."""
        return self._register_hook(Action.MOCK, hook)

    def _register_hook(self, action: Action, hook: ActionHook) -> RemovableHandle:
        return self._hooks[action].register(hook)

    # --- what is saved

    def get_unique_id(self) -> str:
        """Return a name that this package has not given before."""
        return self._unique("")

    def _unique(self, name: str) -> str:
        self._unique_ids[name] = number = self._unique_ids.get(name, -1) + 1
        return f"{name}{number}"

    def save_source_file(
        self, module_name: str, file_or_directory: str, dependencies: bool = True
    ) -> None:
        """Put a file, or all Python files of a folder, into the package.

        Args:
            module_name: its name in the package.
            file_or_directory: the path.
            dependencies: modules that it imports are needed, too.
        """
        path = Path(file_or_directory)
        if not path.is_dir():
            self.save_source_string(module_name, path.read_text("utf-8"), False, dependencies)
            return
        # First all of them, so that those that import each other are there.
        modules = []
        for file in sorted(path.rglob("*.py")):
            names = [module_name, *file.relative_to(path).with_suffix("").parts]
            is_package = names[-1] == "__init__"
            name = ".".join(names[:-1] if is_package else names)
            modules.append((name, file.read_text("utf-8"), is_package))
        for name, source, is_package in modules:
            self.save_source_string(name, source, is_package, dependencies)

    def save_source_string(
        self, module_name: str, src: str, is_package: bool = False, dependencies: bool = True
    ) -> None:
        """Put source into the package as a module.

        Args:
            module_name: its name.
            src: the source.
            is_package: it has modules in it.
            dependencies: modules that it imports are needed, too.
        """
        self.dependency_graph.add_node(
            module_name, source=src, provided=True, is_package=is_package, action=Action.INTERN
        )
        if dependencies:
            self._add_dependencies_of(module_name, src, is_package)

    def save_module(self, module_name: str, dependencies: bool = True) -> None:
        """Put the source of a module into the package, whatever patterns say.

        Args:
            module_name: its name.
            dependencies: modules that it imports are needed, too.

        Raises:
            TypeError: `module_name` is no text.
            ModuleNotFoundError: there is no such module.
        """
        if not isinstance(module_name, str):
            raise TypeError(
                f"save_module(): `module_name` must be str, got {type(module_name).__name__}"
            )
        self._intern_module(module_name, dependencies)

    def save_pickle(
        self,
        package: str,
        resource: str,
        obj: Any,
        dependencies: bool = True,
        pickle_protocol: int = 3,
    ) -> None:
        """Put an object into the package.

        Args:
            package: where it is.
            resource: its name there.
            obj: the object.
            dependencies: modules of its classes and functions are needed, too.
            pickle_protocol: of pickles.

        Raises:
            PicklingError: a class or function is not the one that the importers find.
        """
        pickled = dump_with_importer(
            obj, self.importer, pickle_protocol, self._storages, self._reduce_in_package
        )
        node = f"<{package}.{resource}>"
        self.dependency_graph.add_node(node, action=Action.INTERN, provided=True, is_pickle=True)
        if dependencies:
            self._add_dependencies_of_pickle(node, modules_in(pickled))
        self._write(self._path(package, resource), pickled)
        for saved in self._storages.all()[self._storage_count :]:
            self._write(f".data/{saved.key}.storage", bytes(saved.content()))
            self._storage_count += 1

    def save_text(self, package: str, resource: str, text: str) -> None:
        """Put text into the package."""
        self.save_binary(package, resource, text.encode("utf-8"))

    def save_binary(self, package: str, resource: str, binary: bytes) -> None:
        """Put bytes into the package."""
        self._write(self._path(package, resource), binary)

    def _reduce_in_package(self, obj: Any) -> tuple[Any, ...]:
        """The description that stands in a pickle for an object with code of its own."""
        if id(obj) not in self._reduced:
            reduced = ("reduce_package", id(obj), *obj.__reduce_package__(self))
            self._reduced[id(obj)] = obj, reduced
        return self._reduced[id(obj)][1]

    # --- what the package needs

    def add_dependency(self, module_name: str, dependencies: bool = True) -> None:
        """Do with a module what the first pattern that matches says.

        Args:
            module_name: its name.
            dependencies: modules that it imports are needed, too.
        """
        graph = self.dependency_graph
        if module_name in graph and graph.nodes[module_name].get("provided"):
            return
        special = {
            "torch_package_importer": Action.SKIP,
            "_mock": Action.REPACKAGED_MOCK,
        }.get(module_name, Action.EXTERN if is_standard_module(module_name) else None)
        if special is not None:
            graph.add_node(module_name, action=special, provided=True)
            return
        pattern = self._pattern_of(module_name)
        if pattern is None:
            graph.add_node(module_name, error=PackagingErrorReason.NO_ACTION)
            return
        pattern.was_matched = True
        if pattern.action is Action.INTERN:
            self._intern_module(module_name, dependencies)
            return
        graph.add_node(module_name, action=pattern.action, provided=True)
        if pattern.action is Action.DENY:
            graph.add_node(module_name, error=PackagingErrorReason.DENIED)

    def _pattern_of(self, module_name: str) -> Pattern | None:
        return next(
            (pattern for group, pattern in self.patterns.items() if group.matches(module_name)),
            None,
        )

    def _intern_module(self, module_name: str, dependencies: bool) -> None:
        module = self._import_module(module_name)
        # An importer knows the name of another package; this one has the plain name.
        name, is_package = demangle(module_name), hasattr(module, "__path__")
        source = self._get_source_of_module(module)
        node: dict[str, Any] = {"action": Action.INTERN, "is_package": is_package}
        self.dependency_graph.add_node(name, provided=True, **node)
        if source is None:
            file = getattr(module, "__file__", None)
            reason, context = PackagingErrorReason.NO_DUNDER_FILE, None
            if file is not None and file.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)):
                reason = PackagingErrorReason.IS_EXTENSION_MODULE
            elif file is not None:
                reason, context = PackagingErrorReason.SOURCE_FILE_NOT_FOUND, f"filename: {file}"
            self.dependency_graph.add_node(name, error=reason, error_context=context)
            return
        self.dependency_graph.add_node(name, source=source)
        if dependencies:
            self._add_dependencies_of(name, source, is_package)

    def _import_module(self, module_name: str) -> ModuleType:
        return self.importer.import_module(module_name)

    def _module_exists(self, module_name: str) -> bool:
        try:
            self._import_module(module_name)
        except Exception:
            return False
        return True

    def _get_source_of_module(self, module: ModuleType) -> str | None:
        """The source of a module; None if it has none."""
        file = None
        loader = getattr(getattr(module, "__spec__", None), "loader", None)
        if isinstance(loader, importlib.machinery.SourceFileLoader):
            try:
                file = loader.get_filename(module.__name__)
            except ImportError:
                file = None
        file = file or getattr(module, "__file__", None)
        if not isinstance(file, str) or not file.endswith(".py"):
            return None
        return "".join(linecache.getlines(file, vars(module))) or (
            "" if Path(file).exists() or loader is not None else None
        )

    def _add_dependencies_of(self, module_name: str, source: str, is_package: bool) -> None:
        package = module_name if is_package else module_name.rpartition(".")[0] or module_name
        try:
            imports = find_files_source_depends_on(source, package)
        except (ImportError, SyntaxError, ValueError) as error:
            self.dependency_graph.add_node(
                module_name,
                error=PackagingErrorReason.DEPENDENCY_RESOLUTION_FAILED,
                error_context=str(error),
            )
            return
        needed: dict[str, None] = {}
        for name, member in imports:
            # A name without a module may be one of the package's own folders of data.
            if self._module_exists(name):
                needed[name] = None
            if member is not None and self._module_exists(f"{name}.{member}"):
                needed[f"{name}.{member}"] = None
        for name in needed:
            self.dependency_graph.add_edge(module_name, name)
            self.add_dependency(name)

    def _add_dependencies_of_pickle(self, node: str, names: Iterable[tuple[str, str]]) -> None:
        names = list(names)
        mocked: dict[str, list[str]] = {}
        for module_name, name in names:
            pattern = self._pattern_of(module_name)
            is_mocked = pattern is not None and pattern.action is Action.MOCK
            if is_mocked and not is_standard_module(module_name):
                mocked.setdefault(module_name, []).append(name)
        for module_name, members in mocked.items():
            self.dependency_graph.add_node(
                module_name,
                action=Action.MOCK,
                provided=True,
                error=PackagingErrorReason.MOCKED_BUT_STILL_USED,
                error_context=f"{', '.join(members)} of it is used in {node}",
            )
        for module_name in dict.fromkeys(module_name for module_name, _ in names):
            if module_name not in mocked:
                self.dependency_graph.add_edge(node, module_name)
                self.add_dependency(module_name)

    # --- what is in it

    def dependency_graph_string(self) -> str:
        """Return the dependencies in the language of Graphviz."""
        return self.dependency_graph.to_dot()

    def _modules_of(self, action: Action) -> list[str]:
        return [
            name
            for name, attributes in self.dependency_graph.nodes.items()
            if attributes.get("action") is action
            and not attributes.get("is_pickle")
            and not (action is Action.EXTERN and is_standard_module(name))
        ]

    def interned_modules(self) -> list[str]:
        """Return the modules whose source is in the package."""
        return self._modules_of(Action.INTERN)

    def externed_modules(self) -> list[str]:
        """Return the modules that the package takes from the process; not Python's own."""
        return self._modules_of(Action.EXTERN)

    def mocked_modules(self) -> list[str]:
        """Return the modules that are left out."""
        return self._modules_of(Action.MOCK)

    def denied_modules(self) -> list[str]:
        """Return the modules for which the package is refused."""
        return self._modules_of(Action.DENY)

    def get_rdeps(self, module_name: str) -> list[str]:
        """Return the modules and pickles that need a module."""
        graph = self.dependency_graph
        return list(graph.predecessors(module_name)) if module_name in graph else []

    def all_paths(self, src: str, dst: str) -> str:
        """Return by which modules one comes by another, in the language of Graphviz."""
        return self.dependency_graph.all_paths(src, dst)

    # --- how it is written

    def _path(self, package: str, resource: str) -> str:
        return "/".join([*demangle(package).split("."), resource])

    def _write(self, file: str, content: bytes) -> None:
        if file in self._files:
            raise AssertionError(f"the package has a file {file!r} already")
        self._files.add(file)
        self.zip_file.write_record(file, content, len(content))

    def _write_source(self, module_name: str, source: str, is_package: bool) -> None:
        path = demangle(module_name).replace(".", "/")
        self._write(f"{path}/__init__.py" if is_package else f"{path}.py", source.encode("utf-8"))

    def close(self) -> None:
        """Check that the package has what it needs, and write the rest of it.

        Raises:
            PackagingError: it has not.
            EmptyMatchError: a pattern that must match modules matches none.
        """
        if self._is_closed:
            return
        try:
            self._require_all()
            self._write_modules()
        finally:
            # The file is closed; after an error it is no package that can be read.
            self._end()

    def _require_all(self) -> None:
        """Check that patterns have matched, and that all that is needed can be packaged."""
        for group, pattern in self.patterns.items():
            if not (pattern.allow_empty or pattern.was_matched):
                raise EmptyMatchError(
                    f"Exporter did not match any modules to {group}, which has `allow_empty=False`"
                )
        nodes = self.dependency_graph.nodes.values()
        if any(attributes.get("error") is not None for attributes in nodes):
            raise PackagingError(self.dependency_graph, self.debug)

    def _write_modules(self) -> None:
        graph, externs = self.dependency_graph, set()
        if any(x["action"] in (Action.MOCK, Action.REPACKAGED_MOCK) for x in graph.nodes.values()):
            self._write_mock_classes()
        for name, attributes in list(graph.nodes.items()):
            action = attributes["action"]
            if not attributes.get("is_pickle") and not is_standard_module(name):
                for hook in list(self._hooks.get(action, Hooks()).values()):
                    hook(self, name)
            if action is Action.EXTERN:
                externs.add(name.partition(".")[0] if is_standard_module(name) else name)
            elif action is Action.MOCK:
                is_package = hasattr(self._import_module(name), "__path__")
                self._write_source(name, MOCKED_SOURCE, is_package)
            elif action is Action.INTERN and not attributes.get("is_pickle"):
                self._write_source(name, attributes["source"], attributes["is_package"])
        self._write(".data/extern_modules", "".join(f"{x}\n" for x in sorted(externs)).encode())

    def _write_mock_classes(self) -> None:
        """Write the module of the objects that stand for what is left out, and what it needs."""
        source = inspect.getsource(_mock)
        self._write_source("_mock", source, False)
        self.dependency_graph.add_node("_mock", action=Action.SKIP, provided=True)
        self._add_dependencies_of("_mock", source, False)

    def _end(self) -> None:
        self._is_closed = True
        self._write(".data/python_version", platform.python_version().encode())
        self._write(".data/version", ARCHIVE_VERSION)
        self.zip_file.write_end_of_file()
        if self.buffer is not None:
            self.buffer.flush()

    def __enter__(self) -> PackageExporter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        elif not self._is_closed:
            self._end()
