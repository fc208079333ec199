"""Names of ``torch.fx.experimental.proxy_tensor``."""

from oneflow.mock_torch.missing import raise_tracing as make_fx


def get_proxy_mode() -> None:
    """Return None: no function is being traced."""


__all__ = ["get_proxy_mode", "make_fx"]
