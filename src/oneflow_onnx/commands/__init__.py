"""The subcommands of ``python -m oneflow_onnx``, one file each."""
