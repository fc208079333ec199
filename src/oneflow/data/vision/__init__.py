"""Image data sets and image transforms."""
