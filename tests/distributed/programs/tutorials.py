"""Runs programs of the folder of tutorials, one after the other."""

import runpy
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "tutorials"
folder, *names = sys.argv[1:]
for name in names:
    sys.argv = [name, folder]
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
