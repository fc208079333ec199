"""Scripts in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys


def run_script(script: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "ONEFLOW_EAGER_BACKGROUND": "1", "ONEFLOW_CACHE_DIR": "off"}
    return subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120
    )
