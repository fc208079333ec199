"""Loaded tensors that all ranks move, and then one that a single rank has read before.

Takes a folder.
"""

import sys
from pathlib import Path

import oneflow as flow

folder, rank = Path(sys.argv[1]), flow.env.get_rank()
FIRST, BOTH = flow.placement("cpu", [0]), flow.placement("cpu", [0, 1])
S, B = flow.sbp.split(0), flow.sbp.broadcast
tensors = {
    "first": flow.arange(4.0, placement=FIRST, sbp=B),
    "split": flow.arange(4.0, placement=BOTH, sbp=S),
    "whole": flow.arange(4.0, placement=BOTH, sbp=B),
}
flow.save(tensors, folder / "tensors")
expected = [0.0, 1.0, 2.0, 3.0]

loaded = flow.load(folder / "tensors")
for _ in range(2):
    for name in tensors:
        assert loaded[name].to_global(BOTH, B).to_local().tolist() == expected
        assert loaded[name].to("cpu").tolist() == expected
# Each rank may do for itself what needs no exchange.
loaded = flow.load(folder / "tensors")
if rank == 0:
    assert loaded["whole"].to_local().tolist() == expected
    assert loaded["whole"].to("cpu").tolist() == expected
parts = loaded["whole"].to_global(sbp=S)
assert parts.to_local().tolist() == expected[2 * rank : 2 * rank + 2]
flow.comm.barrier()
print("so far", flush=True)  # noqa: T201
if rank == 0:
    loaded["first"].to_local().numpy()
loaded["first"].to_global(BOTH, B).to_local().numpy()
