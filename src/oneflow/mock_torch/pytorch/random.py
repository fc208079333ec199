"""Names that ``torch.random`` has beside `oneflow.random`."""


def thread_safe_generator() -> None:
    """Return None, for the generator of the process: workers of loaders are processes, not threads.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> torch.randperm(1, generator=torch.random.thread_safe_generator()).tolist()
        [0]
    """


__all__ = ["thread_safe_generator"]
