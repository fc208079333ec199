"""Names that ``torch.utils.model_zoo`` has beside `oneflow.utils.model_zoo`."""

from tqdm import tqdm

__all__ = ["tqdm"]
