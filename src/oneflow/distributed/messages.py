"""Point-to-point communication with PyTorch's names; messages wait until they are received.

`oneflow.comm.send` and `oneflow.comm.recv` run as one program in both processes instead, from
device to device; these functions go through the memory of the machines.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from oneflow.base import cluster
from oneflow.control_plane.message import Address
from oneflow.control_plane.message_channel import SendHandle, message_channel
from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributed.collectives import check_tensor
from oneflow.distributed.groups import ProcessGroup, group_ranks, is_outside, rank_in_job
from oneflow.distributed.work import Work
from oneflow.runtime.eager import read_array
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import value_from_numpy
from oneflow.tensor.views import unwrap, write


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Start to send a tensor to process `dst`, which calls `recv` or `irecv` at any time.

    Args:
        tensor: what is sent; it may be written to at once.
        dst: the rank in the job of the receiver.
        group: the group of both, by default all processes.
        tag: a number that tells messages apart.
        group_dst: its index in the group, in place of `dst`.

    Returns:
        A handle; None outside of the group.

    Raises:
        ValueError: `dst` is this process, or no rank of the group.

    Example:
        >>> import oneflow as flow
        >>> if flow.env.get_world_size() > 1:
        ...     if flow.env.get_rank() == 0:
        ...         work = flow.distributed.isend(flow.ones(2), dst=1)
        ...     elif flow.env.get_rank() == 1:
        ...         x = flow.zeros(2)
        ...         work = flow.distributed.irecv(x, src=0)
        ...     work.wait()
    """
    if is_outside(group):
        return None
    dst, address = _peer("dst", dst, group_dst, group), _address(tensor, group, tag)
    array = np.asarray(read_array(unwrap(tensor)))
    handle = message_channel().send(dst, address, array, is_one_way=True)
    return Work(functools.partial(_await_send, handle, dst), handle.is_over)


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Return a handle whose `wait` receives a tensor from process `src`.

    Messages go to those who have asked for them first.

    Args:
        tensor: is written by `wait`; of the same shape and dtype as what was sent.
        src: the rank in the job of the sender; by default any process of the group.
        group: the group of both, by default all processes.
        tag: a number that tells messages apart.
        group_src: its index in the group, in place of `src`.

    Returns:
        The handle; None outside of the group.

    Raises:
        ValueError: `src` is this process, or no rank of the group.

    Example:
        >>> import oneflow as flow
        >>> if flow.env.get_world_size() > 1 and flow.env.get_rank() == 0:
        ...     flow.distributed.isend(flow.ones(2), dst=1).wait()
        >>> if flow.env.get_rank() == 1:
        ...     flow.distributed.irecv(flow.zeros(2), src=0).wait()
    """
    if is_outside(group):
        return None
    sources, address = _sources(src, group_src, group), _address(tensor, group, tag)

    channel = message_channel()
    request = channel.request(sources, address)

    def finish(timeout: datetime.timedelta | None) -> None:
        seconds = _seconds(group, timeout)
        with _naming_what_is_missing(sources, address, seconds):
            message = channel.take(request, seconds)
        _write_message(tensor, *message)

    return Work(finish, functools.partial(channel.is_ready, request))


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to process `dst`, and return when it may be written to.

    While more than 64 MiB wait there that were sent before with the same tag, this waits, too.

    Args:
        tensor: what is sent.
        dst: the rank in the job of the receiver.
        group: the group of both, by default all processes.
        tag: a number that tells messages apart.
        group_dst: its index in the group, in place of `dst`.

    Example:
        >>> import oneflow as flow
        >>> if flow.env.get_world_size() > 1:
        ...     if flow.env.get_rank() == 0:
        ...         flow.distributed.send(flow.ones(2), dst=1)
        ...     elif flow.env.get_rank() == 1:
        ...         sender = flow.distributed.recv(flow.zeros(2))
    """
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive a tensor from process `src` into `tensor`.

    Args:
        tensor: is written; of the same shape and dtype as what was sent.
        src: the rank in the job of the sender; by default any process of the group.
        group: the group of both, by default all processes.
        tag: a number that tells messages apart.
        group_src: its index in the group, in place of `src`.

    Returns:
        The rank of the sender; -1 outside of the group.

    Raises:
        RuntimeError: the message has another shape or dtype, or did not come in time.

    Example:
        >>> import oneflow as flow
        >>> if flow.env.get_world_size() > 1:
        ...     if flow.env.get_rank() == 0:
        ...         flow.distributed.send(flow.ones(2), dst=1)
        ...     elif flow.env.get_rank() == 1:
        ...         sender = flow.distributed.recv(flow.zeros(2))
    """
    if is_outside(group):
        return -1
    sources, address = _sources(src, group_src, group), _address(tensor, group, tag)
    seconds = _seconds(group, None)
    with _naming_what_is_missing(sources, address, seconds):
        message = message_channel().recv(sources, address, seconds)
    return _write_message(tensor, *message)


class P2POp:
    """One message of `batch_isend_irecv`.

    Args:
        op: `isend` or `irecv`.
        tensor: what is sent, or written.
        peer: the rank in the job of the other process.
        group: the group of both, by default all processes.
        tag: a number that tells messages apart.
        group_peer: its index in the group, in place of `peer`.

    Raises:
        ValueError: another `op`, or a `peer` that is not in the group.

    Example:
        >>> import oneflow as flow
        >>> flow.distributed.P2POp(flow.distributed.isend, flow.ones(2), peer=1).peer
        1
    """

    def __init__(
        self,
        op: Callable[..., Work | None],
        tensor: Tensor,
        peer: int | None = None,
        group: ProcessGroup | None = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(f"`op` must be `isend` or `irecv`, got {op!r}")
        check_tensor(tensor)
        if peer is None or group_peer is not None:
            peer = rank_in_job("peer", peer, group_peer, group)
        self.op, self.tensor, self.peer, self.group, self.tag = op, tensor, peer, group, tag


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Start to send and receive several tensors.

    Args:
        p2p_op_list: the messages.

    Returns:
        A handle for each that this process takes part in.

    Example:
        >>> import oneflow as flow
        >>> rank, size = flow.distributed.get_rank(), flow.distributed.get_world_size()
        >>> received = flow.zeros(2)
        >>> if size > 1:  # a ring
        ...     send = flow.distributed.P2POp(
        ...         flow.distributed.isend, flow.ones(2), (rank + 1) % size
        ...     )
        ...     recv = flow.distributed.P2POp(flow.distributed.irecv, received, (rank - 1) % size)
        ...     for work in flow.distributed.batch_isend_irecv([send, recv]):
        ...         work.wait()
    """
    works = [op.op(op.tensor, op.peer, op.group, op.tag) for op in p2p_op_list]
    return [work for work in works if work is not None]


def _address(tensor: Any, group: ProcessGroup | None, tag: int) -> Address:
    """Check the tensor of a message, and return what tells the message apart from others."""
    check_tensor(tensor)
    return group_ranks(group), tag


def _peer(name: str, rank: int | None, group_rank: int | None, group: ProcessGroup | None) -> int:
    """The rank in the job of another process of the group."""
    peer = rank_in_job(name, rank, group_rank, group)
    if peer == cluster.rank():
        raise ValueError(f"`{name}`={peer} must be another rank than this process")
    return peer


def _sources(src: int | None, group_src: int | None, group: ProcessGroup | None) -> tuple[int, ...]:
    if src is None and group_src is None:
        return group_ranks(group)
    return (_peer("src", src, group_src, group),)


def _seconds(group: ProcessGroup | None, timeout: datetime.timedelta | None) -> float:
    return (timeout or ProcessGroup.timeout if group is None else group.timeout).total_seconds()


def _await_send(handle: SendHandle, dst: int, timeout: datetime.timedelta | None) -> None:
    """Wait until a message has been sent, and enough of those before it have been taken."""
    seconds = _seconds(None, timeout)
    if not handle.done.wait(seconds):
        raise RuntimeError(f"the message to rank {dst} could not be sent in time")
    if handle.error is not None:
        raise RuntimeError(f"the message to rank {dst} could not be sent: {handle.error}")
    try:
        handle.await_space(seconds)
    except TimeoutError:
        raise RuntimeError(
            f"rank {dst} has not received earlier messages for {seconds:g} s"
        ) from None
    except ConnectionError as error:
        raise RuntimeError(str(error)) from error


@contextlib.contextmanager
def _naming_what_is_missing(
    sources: tuple[int, ...], address: Address, seconds: float
) -> Iterator[None]:
    """Context in which a timeout is an error that names the message that has not come."""
    try:
        yield
    except TimeoutError:
        raise RuntimeError(
            f"no message with tag {address[1]} has come from rank(s) "
            f"{', '.join(map(str, sources))} for {seconds:g} s"
        ) from None


def _write_message(tensor: Tensor, source: int, array: np.ndarray) -> int:
    """Write a message into a tensor, and return the rank of its sender."""
    value = value_from_numpy(array, tensor.device)
    expected = unwrap(tensor).spec
    if value.spec is not expected:
        raise RuntimeError(
            f"`tensor` is {expected!r}, and rank {source} has sent {value.spec!r}; both must be "
            "the same"
        )
    with no_grad():
        write(tensor, value)
    return source
