"""Facts about the machine and tables of cases, under the names that PyTorch's tests look for."""

from __future__ import annotations

import importlib.util
import sys

IS_WINDOWS = sys.platform == "win32"
IS_MACOS = sys.platform == "darwin"
IS_PPC = IS_JETSON = IS_FBCODE = IS_SANDCASTLE = IS_REMOTE_GPU = False
IS_FILESYSTEM_UTF8_ENCODING = True
NO_MULTIPROCESSING_SPAWN = False
PYTORCH_CUDA_MEMCHECK = False
TEST_NUMPY = True
TEST_SCIPY = importlib.util.find_spec("scipy") is not None
TEST_CUDA = TEST_MULTIGPU = TEST_CUDNN = False
TEST_CUDNN_VERSION = 0
TEST_OPT_EINSUM = TEST_LIBROSA = TEST_WITH_TSAN = IS_CI = IS_ARM64 = SM53OrLater = False
TEST_MKL = True  # the library of PyTorch's Fourier transforms on CPUs
TEST_WITH_ROCM = TEST_WITH_UBSAN = TEST_WITH_ASAN = TEST_WITH_CROSSREF = False
TEST_WITH_TORCHINDUCTOR = TEST_WITH_TORCHDYNAMO = False
GRADCHECK_NONDET_TOL = 0.0

# The operators and layers that PyTorch's own package lists are compared by `make opdb`.
op_db: list = []
additional_op_db: list = []
module_db: list = []
autograd_function_db: list = []
module_tests: list = []
new_module_tests: list = []
criterion_tests: list = []
loss_reference_fns: dict = {}


def _get_torch_cuda_version() -> tuple[int, int]:
    """The version of CUDA, of which there is none."""
    return 0, 0


def _get_magma_version() -> tuple[int, int]:
    """The version of a library for GPUs, of which there is none."""
    return 0, 0


def has_cusolver() -> bool:
    """Test if a library for GPUs is there."""
    return False
