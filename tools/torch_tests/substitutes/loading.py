"""Loading a file of PyTorch's tests, whichever of the names that it imports exist."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from tools.torch_tests.substitutes import (
    decorators,
    device_types,
    dtypes,
    functions,
    layers,
    matrices,
    parameters,
    settings,
    test_case,
)

_INTERNAL = "torch.testing._internal"
#: Modules of the package, and where their names are found.
_MODULES = {
    "common_utils": (test_case, matrices, parameters, settings, decorators, dtypes),
    "common_device_type": (device_types, decorators, settings),
    "common_dtype": (dtypes,),
    "common_cuda": (decorators, settings),
    "common_nn": (layers, settings),
    "common_methods_invocations": (settings, test_case),
    "autograd_function_db": (settings,),
    "common_modules": (settings,),
    "data": (settings,),
    "hypothesis_utils": (settings,),
    "jit_utils": (test_case, settings),
    "logging_tensor": (settings,),
}
#: Besides PyTorch, what may be lacking: other libraries, and the folder that `test_fx.py` collects.
_LIBRARIES = ("torch", "functorch", "functorch_additional_op_db", "torchvision", "fx")


class Absent:
    """A name that a file imports and the library does not have.

    While the file is loaded, calling it and reading its attributes give others of its kind; in a
    test they raise.
    """

    loading = True

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *arguments: Any, **options: Any) -> Absent:
        """Give what a call would, while the file is loaded."""
        return self._more("()")

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._more(f".{name}")

    def __mro_entries__(self, bases: tuple) -> tuple:
        return ()

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __bool__(self) -> bool:
        return False

    def _more(self, text: str) -> Absent:
        if not Absent.loading:
            raise NotImplementedError(f"{self._name} does not exist")
        return Absent(self._name + text)


class _LoadTime(ast.NodeTransformer):
    """Lets attributes that are read while a file is loaded be absent, too."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Leave bodies, which run in tests."""
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        node.args = self.visit(node.args)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        """Leave these, too."""
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Read an attribute that may be absent."""
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        name = ast.Constant(node.attr)
        call = ast.Call(ast.Name("_attribute", ast.Load()), [node.value, name], [])
        return ast.copy_location(call, node)


def _attribute(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError:
        return Absent(f"{getattr(owner, '__name__', owner)}.{name}")


class _Module(ModuleType):
    """A module in place of a private one; names that it lacks are absent."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")


def load(folder: Path, file: str) -> ModuleType:
    """Load a file of tests, with our modules in place of PyTorch's private ones."""
    _install()
    sys.path.insert(0, str((folder / file).parent))
    tree = ast.parse((folder / file).read_text())
    tree = _LoadTime().visit(tree)
    tree.body = [tolerant for statement in tree.body for tolerant in _tolerant(statement)]
    module = ModuleType(Path(file).stem)
    module.__file__ = str(folder / file)
    vars(module).update(_found=_found, _attribute=_attribute)
    sys.modules[module.__name__] = module
    for statement in ast.fix_missing_locations(tree).body:
        _execute(statement, module)
    functions.add_test_functions(module)
    Absent.loading = False
    return module


def _execute(statement: ast.stmt, module: ModuleType) -> None:
    """Run a statement of a file; what is assigned may be something that the library refuses.

    What a file asserts of the whole library, as that each function is listed in it, and what it
    makes of PyTorch's tables, which are not here, are no tests.
    """
    code = compile(ast.Module([statement], []), str(module.__file__), "exec")
    try:
        exec(code, vars(module))
    except (AssertionError, ImportError) as failure:
        if not isinstance(statement, ast.Expr):
            raise
        print(f"{module.__file__}:{statement.lineno}: {failure}")
    except (TypeError, AttributeError, NotImplementedError):
        if not isinstance(statement, ast.Assign):
            raise
        for target in statement.targets:
            name = ast.unparse(target)
            vars(module)[name] = Absent(name)


def _install() -> None:
    sys.modules["torchvision"] = cast(Any, None)  # it imports PyTorch's operators
    sys.modules["functorch_additional_op_db"] = settings
    beside = sys.modules["common_utils"] = _Module("common_utils")
    vars(beside).update(vars(decorators), __name__="common_utils")
    test_case.record_global_hooks()
    install_private_modules()


def install_private_modules() -> None:
    """Let tests find ours where they import PyTorch's private modules for tests."""
    importlib.import_module("torch.testing")
    package = _Module(_INTERNAL)
    package.__path__ = []
    sys.modules[_INTERNAL] = package
    for name, sources in _MODULES.items():
        module = _Module(f"{_INTERNAL}.{name}")
        for source in sources:
            vars(module).update({k: v for k, v in vars(source).items() if not k.startswith("__")})
        sys.modules[module.__name__] = module
        setattr(package, name, module)


def _tolerant(statement: ast.stmt) -> list[ast.stmt]:
    """Statements that bind the names of an import of the library, or what is absent."""
    if isinstance(statement, ast.Import):
        names = [(x.name, "", x.asname) for x in statement.names]
    elif isinstance(statement, ast.ImportFrom):
        names = [(statement.module or "", x.name, x.asname or x.name) for x in statement.names]
    else:
        return [statement]
    if any(x == "*" for _, x, _ in names) or names[0][0].split(".")[0] not in _LIBRARIES:
        return [statement]
    bound = []
    for module, name, alias in names:
        target = alias or module.split(".")[0]
        source = f"{target} = _found({module!r}, {name!r}, whole={alias is not None})"
        bound += ast.parse(source).body
    for node in bound:
        node.lineno = node.end_lineno = statement.lineno
    return bound


def _found(module: str, name: str, whole: bool) -> Any:
    """The object that an import binds: a name of a module, a module, or its package."""
    try:
        found = importlib.import_module(module)
    except (ImportError, AttributeError):
        return Absent(f"{module}.{name}") if whole else sys.modules["torch"]
    if name:
        try:
            return getattr(found, name)
        except AttributeError:
            try:
                return importlib.import_module(f"{module}.{name}")
            except ImportError:
                return Absent(f"{module}.{name}")
    return found if whole else sys.modules[module.split(".")[0]]
