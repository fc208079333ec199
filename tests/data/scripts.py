"""Running whole scripts."""

import os
import subprocess
import sys
import textwrap


def run(program, folder, **options):
    """Run a script; returns the finished process."""
    script = folder / "script.py"
    script.write_text(textwrap.dedent(program))
    return subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        **options,
    )
