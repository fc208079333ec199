"""Names of ``torch.distributed._composable``."""
