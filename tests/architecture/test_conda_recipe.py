"""The recipe for conda is what conda-build can read, and asks for what the package asks for.

The functions that conda-build gives to recipes are played by few lines, with its parameters; it is
on no package index.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import jinja2  # PyTorch's package brings it
import yaml

import oneflow

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "conda" / "meta.yaml"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def _load_file_data(name: str, from_recipe_dir: bool) -> Any:
    assert from_recipe_dir
    return tomllib.loads(Path(RECIPE.parent, name).read_text())


def _load_file_regex(*, load_file: str, regex_pattern: str, from_recipe_dir: bool) -> Any:
    # conda-build gives its configuration in the first place: all of these are keywords.
    assert from_recipe_dir
    return re.search(regex_pattern, Path(RECIPE.parent, load_file).read_text())


def _recipe() -> dict[str, Any]:
    template = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(RECIPE.read_text())
    functions = {"load_file_data": _load_file_data, "load_file_regex": _load_file_regex}
    return yaml.safe_load(template.render(functions))


def test_recipe_says_what_the_project_says() -> None:
    recipe, project = _recipe(), PROJECT["project"]
    python = f"python {project['requires-python']}"
    assert recipe["package"] == {"name": project["name"], "version": oneflow.__version__}
    assert recipe["requirements"]["run"] == [python, *project["dependencies"]]
    assert set(PROJECT["build-system"]["requires"]) < set(recipe["requirements"]["host"])
    assert recipe["build"]["entry_points"] == ["oneflow = " + project["scripts"]["oneflow"]]
    assert recipe["about"]["license"] == project["license"]
    packages = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert {f"src/{name}" for name in recipe["test"]["imports"]} == set(packages)
