"""The environment in which XLA compiles for GPUs and TPUs."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements" / "chips.txt"


def make_environment(folder: Path) -> Path:
    """Make a virtual environment with XLA's compilers for chips, and return its Python.

    It sees the packages of this Python, too. It is made once, and anew when its packages change.
    """
    python, done = folder / "bin" / "python", folder / "requirements.txt"
    wanted = REQUIREMENTS.read_text()
    if done.is_file() and done.read_text() == wanted:
        return python
    print(f"Installing XLA's compilers for GPUs and TPUs into {folder} (2 GB)", flush=True)
    venv.create(folder, clear=True, with_pip=True)
    shared = sysconfig.get_path("purelib")
    purelib = sysconfig.get_path("purelib", vars={"base": str(folder)})
    (Path(purelib) / "shared.pth").write_text(f"{shared}\n")
    version = importlib.metadata.version("jaxlib")
    plugins = [f"{name}=={version}" for name in ("jax-cuda12-plugin", "jax-cuda12-pjrt")]
    install = [str(python), "-m", "pip", "--quiet", "install", "--no-deps"]
    subprocess.run([*install, *plugins, "--requirement", str(REQUIREMENTS)], check=True)
    done.write_text(wanted)
    return python


if __name__ == "__main__":
    make_environment(Path(sys.argv[1]))
