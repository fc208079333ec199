"""Downloads of data sets."""

from oneflow.data.vision.archives import (
    calculate_md5 as calculate_md5,
    check_integrity as check_integrity,
    download_and_extract_archive as download_and_extract_archive,
    download_url as download_url,
    extract_archive as extract_archive,
)
