"""The architecture holds: import contracts, sizes, facades, and no torch in the packages."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "oneflow"
FACADE_FOLDERS = ["backends", "boxing", "framework", "nn/graph", "nn/optimizer", "signal", "utils"]
# Every package's own file, and packages that only exist for the public names.
FACADES = sorted(
    {
        *(path for path in PACKAGE.glob("*.py") if path.name != "__main__.py"),
        *SOURCE.rglob("__init__.py"),
        *(PACKAGE / "nn" / file for file in ("functional.py", "parameter.py")),
        *(path for folder in FACADE_FOLDERS for path in (PACKAGE / folder).rglob("*.py")),
    }
)


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the root of the repository with the packages on its path."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def assert_succeeded(result: subprocess.CompletedProcess[str]) -> None:
    assert result.returncode == 0, f"\n{result.stdout}\n{result.stderr}"


def test_import_contracts_are_kept():
    command = "from importlinter.cli import lint_imports_command as run; run(['--no-cache'])"
    assert_succeeded(run_python("-c", command))


def test_files_and_functions_are_short():
    assert_succeeded(run_python("tools/check_sizes.py"))


# Ranks connect before any of them uses a device; the launcher needs no package.
CALLS_AT_IMPORT = {
    "oneflow/runtime/start_up.py": ["join_job"],
    "oneflow/control_plane/launcher/early.py": ["sys.exit"],
}


def calls_at_import(path: Path) -> list[str]:
    """The calls of a module's top level that end the process, or start something in it."""
    statements = ast.parse(path.read_text(encoding="utf-8")).body
    run = [
        statement
        for statement in statements
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef)
        and not ast.unparse(statement).startswith("if __name__ == '__main__':")
    ]
    calls = [
        ast.unparse(node.func)
        for statement in run
        for node in ast.walk(statement)
        if isinstance(node, ast.Call)
    ]
    started = {
        name.asname or name.name
        for statement in run
        if isinstance(statement, ast.ImportFrom)
        and str(statement.module).startswith("oneflow.control_plane")
        for name in statement.names
    }
    return [
        call
        for call in calls
        if call in started or call.startswith(("sys.exit", "os._exit", "gc.", "signal.", "atexit."))
    ]


def test_importing_does_nothing_to_the_process():
    found = {
        path.relative_to(SOURCE).as_posix(): calls
        for path in SOURCE.rglob("*.py")
        if path.name != "__main__.py" and (calls := calls_at_import(path))
    }
    assert found == CALLS_AT_IMPORT


def belongs_in_a_facade(statement: ast.stmt) -> bool:
    """Accept imports, text (the docstring), Python's own names, other names, in-place forms."""
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant(str())):
            return True
        case ast.Assign([ast.Name(name)]) if name.startswith("__") and name.endswith("__"):
            return True
        case ast.If(ast.Name("TYPE_CHECKING"), body, []):
            return all(map(belongs_in_a_facade, body))
        case ast.If(ast.UnaryOp(ast.Not(), ast.Name("TYPE_CHECKING")), body, []):
            return all(map(belongs_in_a_facade, body))
        case ast.Assign([ast.Name()], ast.Name()):
            return True
        case ast.Assign([ast.Name(name)], ast.Attribute(ast.Name("Tensor"), method)):
            return name == method
        case _:
            return False


@pytest.mark.parametrize("path", FACADES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_facade_holds_only_imports_and_names(path: Path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    logic = [node.lineno for node in tree.body if not belongs_in_a_facade(node)]
    assert not logic, f"{path.name} is a facade; move lines {logic} into a room"


def test_importing_the_package_never_imports_torch():
    assert_succeeded(run_python("-c", "import oneflow, sys; assert 'torch' not in sys.modules"))


def test_importing_every_module_never_imports_torch():
    program = """
import sys
import oneflow, oneflow_onnx
from tests.modules import import_modules
for module in import_modules((oneflow, oneflow_onnx)):
    assert module
assert "torch" not in sys.modules
"""
    assert_succeeded(run_python("-c", program))


@pytest.mark.parametrize(
    "tools",
    [
        ["make_facades.py"],  # imports the rooms without façades
        ["make_figures.py"],  # asks for two devices
        [
            "make_stubs.py",
            "make_job_pages.py",
            "make_environment_page.py",
            "make_room_map.py",
            "make_counterparts.py",
            "make_diagrams.py",
        ],
    ],
    ids=lambda tools: tools[0],
)
def test_generated_files_are_current(tools: list[str]):
    program = """
import runpy, sys
_, *tools = sys.argv
sys.argv[1:] = ["--check"]
sys.path.insert(0, "tools")
for tool in tools:
    runpy.run_path(f"tools/{tool}", run_name="__main__")
"""
    assert_succeeded(run_python("-c", program, *tools))


@pytest.mark.xdist_group("grouped")
def test_groups_of_tests_are_formed(request):
    """Objects made once for a group would be made by every worker otherwise."""
    if "PYTEST_XDIST_WORKER" not in os.environ or not request.config.getvalue("loadgroup"):
        pytest.skip("one process runs all tests")
    assert request.node.nodeid.endswith("@grouped")
