"""Downloads of weights, by the name they had before `oneflow.hub`."""

from oneflow.checkpoint.download import load_state_dict_from_url as load_url

__all__ = ["load_url"]
