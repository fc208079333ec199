"""Trained weights from the network, kept in a cache folder."""

from oneflow.checkpoint.download import (
    download_url_to_file as download_url_to_file,
    get_dir as get_dir,
    load_state_dict_from_url as load_state_dict_from_url,
    set_dir as set_dir,
)
