"""Copies of a process that has used tensors: they say so and never wait forever."""

from tests.data.scripts import run

# Each case runs in a copy of its own, which is killed if it waits forever.
CASES = """
    import multiprocessing, os, signal, sys, warnings
    warnings.simplefilter("ignore")
    import numpy as np
    import oneflow as flow

    class Double(flow.nn.Graph):
        def build(self, x):
            return 2 * x

    model = flow.nn.Linear(3, 3)
    ready = flow.ones(2, 3) + 1
    graph = Double()
    assert graph(ready).sum().item() == 24
    assert model(ready).shape == (2, 3) and ready.tolist() == [[2.0] * 3] * 2
    pending = ready * 3

    def train():
        model(ready).sum().backward()
        flow.optim.SGD(model.parameters(), lr=0.1).step()
        return model.weight.tolist()

    CASES = {
        "numpy": lambda: ready.numpy().sum(),
        "tolist": lambda: ready.tolist()[0][0],
        "print": lambda: repr(ready),
        "dlpack": lambda: np.from_dlpack(ready).sum(),
        "pending": lambda: pending.numpy(),
        "item": lambda: ready[0, 0].item(),
        "new": lambda: flow.zeros(3).tolist(),
        "data": lambda: flow.tensor([1.0, 2.0]),
        "from_numpy": lambda: flow.from_numpy(np.ones(3)),
        "random": lambda: flow.randn(3).tolist(),
        "train": train,
        "graph": lambda: graph(ready),
        "save": lambda: flow.save({"x": pending}, "checkpoint"),
        "loader": lambda: list(flow.utils.data.DataLoader(range(4), batch_size=2)),
        "device": lambda: flow.cuda.is_available(),
    }

    def outcome(name):
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                print(name, CASES[name]())
            except RuntimeError as error:
                print(name, "spawn" in str(error))
            sys.stdout.flush()
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if status:
            print(name, "ended with", status)

    for name in CASES:
        outcome(name)
    try:
        with multiprocessing.get_context("fork").Pool(1) as pool:
            pool.apply(train)
    except RuntimeError as error:
        print("pool", "spawn" in str(error))
    print("parent", (pending + model(ready).sum() * 0).sum().item())
"""
READS = ["numpy 12.0", "tolist 2.0", "print tensor([[2., 2., 2.],", "dlpack 12.0"]
REFUSED = ["pending", "item", "new", "data", "from_numpy", "random", "train", "graph", "save"]
REFUSED += ["loader", "device", "pool"]


def test_what_a_copy_can_do(tmp_path):
    result = run(CASES, tmp_path, cwd=tmp_path)
    lines = [line for line in result.stdout.splitlines() if not line.startswith(" ")]
    assert lines == [*READS, *(f"{name} True" for name in REFUSED), "parent 36.0"], result.stderr
    assert not (tmp_path / "checkpoint").exists()


UNUSED = """
    import os, sys, warnings
    warnings.simplefilter("ignore")
    import oneflow as flow

    flow._oneflow_internal.eager.Sync()
    flow.cuda.Event().record()
    flow.eager.synchronize()
    child = os.fork()
    if child == 0:
        print((flow.ones(3) * 2).tolist())
        sys.exit(0)
    print("status", os.waitpid(child, 0)[1])
"""


def test_a_copy_of_a_process_without_tensors_uses_them(tmp_path):
    result = run(UNUSED, tmp_path)
    assert result.stdout == "[2.0, 2.0, 2.0]\nstatus 0\n", result.stderr


LEAVES_A_LOADER = """
    import os
    from oneflow.utils.data import DataLoader
    from tests.data.samples import Texts, keep_list

    batches = iter(DataLoader(Texts(100), 10, num_workers=2, collate_fn=keep_list))
    next(batches)
    child = os.fork()
    if child == 0:
        del batches
        os._exit(0)
    print("status", os.waitpid(child, 0)[1])
    print(sum(len(batch) for batch in batches))
"""


def test_a_copy_leaves_the_workers_of_a_loader_alone(tmp_path):
    result = run(LEAVES_A_LOADER, tmp_path)
    assert result.stdout == "status 0\n90\n", result.stderr
