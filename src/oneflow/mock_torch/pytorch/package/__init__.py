"""``torch.package``: archives that hold code, objects and data together."""

from oneflow.mock_torch.pytorch.package import analyze as analyze
from oneflow.mock_torch.pytorch.package.analyze.is_from_package import (
    is_from_package as is_from_package,
)
from oneflow.mock_torch.pytorch.package.errors import (
    EmptyMatchError as EmptyMatchError,
    PackagingError as PackagingError,
)
from oneflow.mock_torch.pytorch.package.file_structure_representation import (
    Directory as Directory,
)
from oneflow.mock_torch.pytorch.package.glob_group import GlobGroup as GlobGroup
from oneflow.mock_torch.pytorch.package.importer import (
    Importer as Importer,
    ObjMismatchError as ObjMismatchError,
    ObjNotFoundError as ObjNotFoundError,
    OrderedImporter as OrderedImporter,
    sys_importer as sys_importer,
)
from oneflow.mock_torch.pytorch.package.package_exporter import PackageExporter as PackageExporter
from oneflow.mock_torch.pytorch.package.package_importer import PackageImporter as PackageImporter
