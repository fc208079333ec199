"""Names that ``torch.hub`` has beside `oneflow.hub`."""

import re
from pathlib import Path
from urllib.parse import urlparse as urlparse
from urllib.request import urlopen as urlopen

from oneflow.checkpoint.download import get_dir

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")


def _get_torch_home() -> str:
    """Return the folder in which the one of models and weights is."""
    return str(Path(get_dir()).parent)


__all__ = ["HASH_REGEX", "_get_torch_home", "urlopen", "urlparse"]
