"""Import, training and saving need nothing that only Linux has."""

import subprocess
import sys

PREPARE = """
import io, os, signal, socket, sys

# Modules that Windows or macOS lack.
for module in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[module] = None
lacking = "O_DIRECTORY copy_file_range fork getuid killpg memfd_create posix_fadvise"
lacking += " register_at_fork sched_getaffinity waitid"
for name in lacking.split():
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGHUP", "SIGKILL", "SIGUSR1"):
    delattr(signal, name)
del socket.AF_UNIX

def refuse(event, arguments):
    if event == "open" and str(arguments[0]).startswith("/proc"):
        raise FileNotFoundError(arguments[0])

sys.addaudithook(refuse)
"""
TRAIN = """
import oneflow as flow
model = flow.nn.Linear(2, 1)
optimizer = flow.optim.Adam(model.parameters())
for _ in range(4):
    optimizer.zero_grad()
    model(flow.ones(3, 2)).square().mean().backward()
    optimizer.step()
class Forward(flow.nn.Graph):
    def __init__(self):
        super().__init__()
        self.model = model
    def build(self, x):
        return self.model(x)
expected = model(flow.ones(3, 2)).numpy()
assert abs(Forward()(flow.ones(3, 2)).numpy() - expected).max() < 1e-6
flow.save(model.state_dict(), sys.argv[1])
model.load_state_dict(flow.load(sys.argv[1]))
loader = flow.utils.data.DataLoader(flow.utils.data.TensorDataset(flow.ones(4, 2)), batch_size=2)
print(len(list(loader)))
"""


def test_training_needs_nothing_of_linux(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PREPARE + TRAIN, str(tmp_path / "model")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("2\n", 0), done.stderr
