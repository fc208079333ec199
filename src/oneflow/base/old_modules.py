"""Modules below `oneflow` that OneFlow's earlier versions had, as rows of a table.

`base/import_paths.py` makes a module of a row when it is imported, and `tools/make_stubs.py` the
stub that type checkers read in its place.
"""

from __future__ import annotations

from typing import NamedTuple


class OldModule(NamedTuple):
    """The content of a module that holds no code.

    Attributes:
        doc: its docstring.
        names: the public names that each module of a room gives it; ``public=name`` where the room
            calls it otherwise.
    """

    doc: str
    names: dict[str, str]

    def imports(self) -> list[tuple[str, str, str]]:
        """The names as triples: module of a room, name there, public name."""
        entries: list[tuple[str, str, str]] = []
        for module, names in self.names.items():
            for entry in names.split():
                public, _, name = entry.partition("=")
                entries.append((module, name or public, public))
        return entries

    def public_names(self) -> list[str]:
        """The names in order; `__getattr__` gives a module others."""
        return sorted({public for *_, public in self.imports()} - {"__getattr__"})


OLD_MODULES = {
    "_utils": OldModule(
        "Several tensors as one, under the path of upstream.",
        {
            "oneflow.functional.shape.dense": "_flatten_dense_tensors=flatten_dense_tensors "
            "_unflatten_dense_tensors=unflatten_dense_tensors"
        },
    ),
    "asyncs": OldModule("Worker threads of OneFlow.", {"oneflow.runtime.streams": "Thread thread"}),
    "config": OldModule(
        "Settings of job functions' session.",
        {
            "oneflow.legacy.config": "__getattr__ cpu_device_num ctrl_port gpu_device_num "
            "legacy_model_io_enabled load_library load_library_now=load_library machine_num"
        },
    ),
    "distribute": OldModule(
        "The distribution of a blob over the devices of its job.",
        {
            "oneflow.base.sbp": "broadcast=BROADCAST split",
            "oneflow.legacy.scope": "assert_is_valid_distribute auto "
            "consistent_strategy=consistent_view "
            "consistent_strategy_enabled=consistent_view_enabled "
            "mirrored_strategy=mirrored_view mirrored_strategy_enabled=mirrored_view_enabled",
        },
    ),
    "experimental": OldModule(
        "Operators that users register for job functions, and what was experimental once.\n\n"
        "Names that OneFlow 0.4 tried here are in `oneflow`; other names are those of `oneflow`, "
        "too.",
        {
            "oneflow.functional.shape.stack": "logical_slice=slice_",
            "oneflow.legacy.context": "name_scope=namespace",
            "oneflow.legacy.job_set": "get_job_set",
            "oneflow.legacy.single_client": "__getattr__",
            "oneflow.legacy.user_op": "custom_op_module register_user_op",
            "oneflow.legacy_functions.top_level": "square_sum",
        },
    ),
    "image": OldModule(
        "Functions on batches of images that readers read.",
        {
            "oneflow.data.readers.images": "CropMirrorNormalize=crop_mirror_normalize "
            "Resize=resize batch_align crop_mirror_normalize decode flip normalize random_crop "
            "resize target_resize"
        },
    ),
    "layers": OldModule(
        "Layers of job functions, with variables of their own.",
        {
            "oneflow.legacy.layers": "batch_normalization batch_normalization_add_relu "
            "batch_normalization_relu conv1d conv2d conv3d dense layer_norm layer_norm_grad "
            "layer_norm_param_grad prelu upsample_2d"
        },
    ),
    "optimizer": OldModule(
        "Optimizers and learning rates of training jobs.",
        {
            "oneflow.legacy": "grad_clipping loss_scale warmup",
            "oneflow.legacy.optimizers": "LAMB LARS SGD SGDW Adam AdamW CombinedOptimizer LazyAdam "
            "RMSProp",
            # OneFlow spelled the polynomial one without an "e" first.
            "oneflow.legacy.schedulers": "CosineScheduler CustomScheduler ExponentialScheduler "
            "InverseTimeScheduler LinearCosineScheduler LrScheduler NaturalExpScheduler "
            "PiecewiseConstantScheduler PiecewiseScalingScheduler "
            "PolynomialSchduler=PolynomialScheduler PolynomialScheduler",
        },
    ),
    "regularizers": OldModule(
        "Terms that variables of job functions add to the loss.",
        {"oneflow.legacy.regularizers": "l1 l1_l2 l2"},
    ),
    "saved_model": OldModule(
        "Saved models: prediction jobs in a folder, and the session that runs them.",
        {
            "oneflow.legacy.inference_session": "InferenceSession ModelVersionPolicy SessionOption",
            "oneflow.legacy.saved_model": "GraphBuilder ModelBuilder SignatureBuilder",
        },
    ),
    "scope": OldModule(
        "Devices and names of what a job function makes.",
        {
            "oneflow.legacy.scope": "config consistent_view consistent_view_enabled mirrored_view "
            "mirrored_view_enabled namespace placement"
        },
    ),
    "train": OldModule(
        "Saving and loading the variables of job functions.",
        {"oneflow.legacy.checkpoint": "CheckPoint SimpleCheckPointManager"},
    ),
    "typing": OldModule(
        "Annotations of job functions: placeholders of arguments, and kinds of results.",
        {"oneflow.legacy.annotations": "Bundle Callback ListListNumpy ListNumpy Numpy"},
    ),
    "util": OldModule(
        "Small helpers of programs with job functions.", {"oneflow.legacy.unique": "unique_str"}
    ),
}
