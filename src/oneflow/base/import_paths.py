"""Import paths of upstream and PyTorch that hold no code here: modules that lead to public names.

``from oneflow.nn.modules.math_ops import add`` finds `oneflow.add`. The table says which path
belongs to which public namespaces; the names in it are looked up when they are asked for. Modules
of earlier versions have exactly the names of their rows in `base/old_modules.py`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from oneflow.base.failed_imports import failed_import
from oneflow.base.old_modules import OLD_MODULES

_PRIVATE, _HINTS = "oneflow.legacy.private_names", "oneflow.legacy.unsupported"
# A package, modules in it, and where their names are looked for.
_MODULES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "oneflow.nn.modules",
        "affine_grid all_reduce arange argsort argwhere as_tensor batchnorm_fused broadcast_ops "
        "constant dataset distributed_partial_fc_sample einsum empty expand fake_quantization fold "
        "global_cast grid_sample interpolate is_tensor linspace logspace "
        "masked_select math_ops meshgrid min_max_observer moving_average_min_max_observer nms "
        "nonzero norm numel reshape roll scatter slice sparse sparse_softmax_cross_entropy "
        "tensor_buffer tensordot trigonometric_ops unique where",
        ("oneflow.nn", "oneflow.nn.functional", "oneflow"),
    ),
    (
        "oneflow.nn.optimizer",
        "adadelta adagrad adam adamw chained_scheduler constant_lr cosine_annealing_lr "
        "cosine_annealing_warm_restarts cosine_decay_lr exponential_lr lamb lambda_lr lbfgs "
        "linear_lr multiplicative_lr multistep_lr polynomial_lr reduce_lr_on_plateau rmsprop "
        "sequential_lr sgd step_lr warmup_lr",
        ("oneflow.optim", "oneflow.optim.lr_scheduler"),
    ),
    ("oneflow.nn.optimizer", "swa_utils", ("oneflow.optim.swa_utils",)),
    ("oneflow.nn.utils", "clip_grad container", ("oneflow.nn.utils",)),
    ("oneflow.amp", "autocast_mode", ("oneflow.amp",)),
    (
        "oneflow.autograd",
        "autograd autograd_function autograd_mode",
        ("oneflow.autograd", "oneflow"),
    ),
    (
        "oneflow.framework",
        "distribute dtype env_util generator type_tensor",
        ("oneflow", "oneflow.env", "oneflow.distribute"),
    ),
    ("oneflow.framework", "sysconfig", ("oneflow.sysconfig",)),
    # Paths of private names that programs read, see `legacy/private_names`.
    ("oneflow", "_oneflow_internal", (f"{_PRIVATE}.internal",)),
    ("oneflow", "core core.operator core.record", ()),
    ("oneflow", "core.operator.op_conf_pb2", (f"{_PRIVATE}.operator_messages",)),
    ("oneflow", "core.record.record_pb2", (f"{_PRIVATE}.record_messages",)),
    ("oneflow", "support", ()),
    ("oneflow", "support.env_var_util", (f"{_PRIVATE}.environment_flags",)),
    ("oneflow", "unittest framework.unittest", (f"{_PRIVATE}.test_cases",)),
    ("oneflow", "unittest.env", (f"{_PRIVATE}.test_cases", "oneflow.legacy.session")),
    ("oneflow.framework", "args_tree", (f"{_PRIVATE}.argument_tree",)),
    ("oneflow.framework", "balanced_splitter", (f"{_PRIVATE}.sizes_of_parts",)),
    ("oneflow.framework", "check_point_v2", ("oneflow", f"{_PRIVATE}.objects")),
    ("oneflow.utils.data", "_utils _utils.worker", ("oneflow.data.worker",)),
    ("oneflow.compatible.single_client", "typing", ("oneflow.typing",)),
    # Paths of PyTorch, which `mock_torch` finds here.
    ("oneflow", "serialization storage", ("oneflow",)),
    ("oneflow.autograd", "profiler", ("oneflow.profiler",)),
    ("oneflow.cuda", "random", ("oneflow.cuda",)),
    ("oneflow.cuda", "nvtx", ("oneflow.profiler",)),
    ("oneflow.distributed", "distributed_c10d", ("oneflow.distributed",)),
    ("oneflow.nn.parallel", "distributed", ("oneflow.nn.parallel",)),
    ("oneflow.optim", "adamw", ("oneflow.optim",)),
    ("oneflow.utils", "dlpack", ("oneflow",)),
)
# A package, modules in it, and the package that has those modules: paths in earlier files.
_MOVED: tuple[tuple[str, str, str], ...] = (
    (
        "oneflow.functional.builtins",
        "aliases arrays attention bias boxes convolution creation losses normalization products "
        "resize",
        "oneflow.builtins",
    ),
    (
        "oneflow.functional.legacy",
        "arrays math nn random replaced top_level windows",
        "oneflow.legacy_functions",
    ),
    ("oneflow.functional.shape", "file_storage storages", "oneflow.functional.creation"),
)
_NAMESPACES = {
    **{
        f"{package}.{name}": namespaces
        for package, names, namespaces in _MODULES
        for name in names.split()
    },
    **{
        f"{package}.{name}": (f"{home}.{name}",)
        for package, names, home in _MOVED
        for name in names.split()
    },
    "oneflow.functional.builtins": ("oneflow.builtins",),
    "oneflow.functional.legacy": ("oneflow.legacy_functions",),
}


# Modules with others of the table in them.
_PACKAGES = {name.rpartition(".")[0] for name in _NAMESPACES} & _NAMESPACES.keys()

# Packages beside this one have it where failed imports of their names suggest those that are meant.
_MARK = "__suggest_names__"


def is_import_path(name: str) -> bool:
    """Return True if a module of that name holds no code, and leads to public names."""
    return name in _NAMESPACES


class PathFinder(MetaPathFinder, Loader):
    """Makes the modules of the tables when they are imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of the tables; None for others.

        Raises:
            ModuleNotFoundError: for modules of upstream of which something else stands in place.
            ImportError: an import asks for a name that is like another.
        """
        if fullname in _NAMESPACES or _is_old(fullname):
            return ModuleSpec(fullname, self, is_package=fullname in _PACKAGES)
        package, _, below = fullname.partition(".")
        if not below or not (package == "oneflow" or hasattr(sys.modules.get(package), _MARK)):
            return None
        hint = _hint(fullname)
        if hint is not None:
            raise ModuleNotFoundError(f"No module named {fullname!r}: {hint}", name=fullname)
        if self not in sys.meta_path:  # another finder stands for it, and asks those behind itself
            return None
        remaining = sys.meta_path[sys.meta_path.index(self) + 1 :]
        candidates = [finder for finder in remaining if hasattr(finder, "find_spec")]
        specs = (finder.find_spec(fullname, path, target) for finder in candidates)
        spec = next((spec for spec in specs if spec is not None), None)
        error = failed_import(fullname, _modules_below(fullname.rpartition(".")[0]))
        if spec is None and error is not None:
            raise error
        return spec

    def exec_module(self, module: ModuleType) -> None:
        """Give a new module its names."""
        name = module.__name__
        if _is_old(name):
            _fill_old(module)
            return
        namespaces = _NAMESPACES[name]
        module.__doc__ = f"A path to names in {', '.join(namespaces)}."
        module.__dict__["__getattr__"] = _lookup(name, namespaces)


def _modules_below(package: str) -> list[str]:
    """The names of the tables' modules in a package."""
    below = [name.rpartition(".") for name in _NAMESPACES]
    old = OLD_MODULES if package == "oneflow" else ()
    return [*[name for parent, _, name in below if parent == package], *old]


def _is_old(name: str) -> bool:
    package, _, module = name.rpartition(".")
    return package == "oneflow" and module in OLD_MODULES


def _fill_old(module: ModuleType) -> None:
    """Fill a module of an earlier version with the names of its row."""
    row = OLD_MODULES[module.__name__.rpartition(".")[2]]
    names = {
        # As `from source import name` does, which imports modules in packages, too.
        public: getattr(__import__(source, fromlist=(name,)), name)
        for source, name, public in row.imports()
    }
    module.__doc__ = row.doc
    module.__dict__.update(names, __all__=row.public_names())


def _lookup(module: str, namespaces: tuple[str, ...]) -> Callable[[str], Any]:
    """The `__getattr__` of a module."""

    def find(name: str) -> Any:
        if is_import_path(f"{module}.{name}"):
            return importlib.import_module(f"{module}.{name}")
        for namespace in namespaces:
            contents = vars(importlib.import_module(namespace))
            if name in contents and not name.startswith("__"):
                return contents[name]
        hint = _hint(f"{module}.{name}")
        text = f"it leads to the names of {', '.join(namespaces)}" if namespaces else ""
        raise AttributeError(f"module `{module}` has no attribute `{name}`; {hint or text}")

    return find


def _hint(name: str) -> str | None:
    """Return the hint for a private name of upstream that does not exist, or None."""
    if name.startswith("__", name.rfind(".") + 1):
        return None
    hints = importlib.import_module(_HINTS).UNSUPPORTED_PATHS
    return next((text for start, text in hints.items() if name.startswith(start)), None)


# Behind all others: modules that exist are found first.
sys.meta_path.append(PathFinder())
