"""Models and trained weights from the network, kept in a cache folder."""

from oneflow.checkpoint.download import (
    DEFAULT_CACHE_DIR as DEFAULT_CACHE_DIR,
    ENV_ONEFLOW_HOME as ENV_ONEFLOW_HOME,
    ENV_XDG_CACHE_HOME as ENV_XDG_CACHE_HOME,
    READ_DATA_CHUNK as READ_DATA_CHUNK,
    download_url_to_file as download_url_to_file,
    get_dir as get_dir,
    load_state_dict_from_url as load_state_dict_from_url,
    set_dir as set_dir,
)
from oneflow.checkpoint.hub import (
    MODULE_HUBCONF as MODULE_HUBCONF,
    VAR_DEPENDENCY as VAR_DEPENDENCY,
    help as help,
    list as list,
    load as load,
)
