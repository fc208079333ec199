"""Names that ``torch.distributed`` has beside `oneflow.distributed`."""

from oneflow.distributed.grad_bucket import GradBucket as GradBucket
from oneflow.mock_torch.pytorch.distributed.backend_config import (
    BackendConfig as BackendConfig,
    GroupName as GroupName,
    Logger as Logger,
    ProcessGroupGloo as ProcessGroupGloo,
    Reducer as Reducer,
    get_backend_config as get_backend_config,
)
from oneflow.mock_torch.pytorch.distributed.builtin_hooks import (
    BuiltinCommHookType as BuiltinCommHookType,
)
from oneflow.mock_torch.pytorch.distributed.coalesced import (
    all_gather_coalesced as all_gather_coalesced,
    all_reduce_coalesced as all_reduce_coalesced,
)
from oneflow.mock_torch.pytorch.distributed.debug_level import (
    DebugLevel as DebugLevel,
    get_debug_level as get_debug_level,
    set_debug_level as set_debug_level,
    set_debug_level_from_env as set_debug_level_from_env,
)
from oneflow.mock_torch.pytorch.distributed.device_mesh import (
    DeviceMesh as DeviceMesh,
    init_device_mesh as init_device_mesh,
)
from oneflow.mock_torch.pytorch.distributed.distributed_c10d import (
    DistBackendError as DistBackendError,
    DistError as DistError,
    DistNetworkError as DistNetworkError,
    DistStoreError as DistStoreError,
    QueueEmptyError as QueueEmptyError,
    get_default_backend_for_device as get_default_backend_for_device,
    get_node_local_rank as get_node_local_rank,
    get_pg_count as get_pg_count,
    is_torchelastic_launched as is_torchelastic_launched,
    is_ucc_available as is_ucc_available,
    is_xccl_available as is_xccl_available,
    monitored_barrier as monitored_barrier,
    new_subgroups as new_subgroups,
    new_subgroups_by_enumeration as new_subgroups_by_enumeration,
    supports_complex as supports_complex,
)
from oneflow.mock_torch.pytorch.distributed.group_operations import (
    AllreduceCoalescedOptions as AllreduceCoalescedOptions,
    AllreduceOptions as AllreduceOptions,
    AllToAllOptions as AllToAllOptions,
    BarrierOptions as BarrierOptions,
    BroadcastOptions as BroadcastOptions,
    GatherOptions as GatherOptions,
    ReduceOptions as ReduceOptions,
    ReduceScatterOptions as ReduceScatterOptions,
    ScatterOptions as ScatterOptions,
)
from oneflow.mock_torch.pytorch.distributed.rendezvous import (
    register_rendezvous_handler as register_rendezvous_handler,
    rendezvous as rendezvous,
)
from oneflow.mock_torch.pytorch.distributed.stores import (
    FileStore as FileStore,
    HashStore as HashStore,
    PrefixStore as PrefixStore,
    Store as Store,
    TCPStore as TCPStore,
)
from oneflow.mock_torch.pytorch.distributed.subgroups import (
    breakpoint as breakpoint,
    record_comm as record_comm,
    shrink_group as shrink_group,
    split_group as split_group,
)
