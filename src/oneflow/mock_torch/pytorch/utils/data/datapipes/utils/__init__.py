"""``torch.utils.data.datapipes.utils``: files and decoders for pipes."""
