"""Functions in PyTorch's place before and after there is a class of tensors that is asked."""

import subprocess
import sys

PROGRAM = """
import functools, importlib, inspect, sys
from oneflow import mock_torch
mock_torch.enable()
import torch
from torch.nn.functional import relu
for name in ("fft", "linalg", "special", "nn.functional", "nn.init", "sparse", "nested"):
    importlib.import_module(f"torch.{name}")

def functions():
    modules = [member for name, member in sys.modules.items() if name.startswith("torch")]
    return {
        (module.__name__, name): value
        for module in modules for name, value in vars(module).items() if inspect.isfunction(value)
    }

def descriptions():
    return {
        path: (inspect.signature(value), value.__name__, value.__module__, value.__doc__)
        for path, value in functions().items()
    }

before, described, counts = functions(), descriptions(), {torch.add: 1, relu: 2}
shared = relu.__wrapped__.__code__ is relu.__code__
kept = functools.partial(torch.add, 1)
seen = []

class Logged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})

after = functions()
print(len(before) > 500, shared, [path for path in before if before[path] is not after[path]])
print(described == descriptions(), counts[torch.add], counts[torch.nn.functional.relu])
x = torch.ones(2).as_subclass(Logged)
print([type(value).__name__ for value in (relu(x), kept(x))])
print([function in counts for function in seen])
seen.clear()
print(type(torch.detach(x)).__name__, [function is torch.detach for function in seen])
"""


def test_functions_stay_the_same_objects_and_ask():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "True True []",
        "True 1 2",
        "['Logged', 'Logged']",
        "[True, True]",
        "Logged [True]",  # `oneflow` has the method itself in this place
    ], done.stderr


LAZY = """
from oneflow import mock_torch
mock_torch.enable()
import torch
from torch.nn.functional import relu
code = relu.__code__
layer = torch.nn.LazyLinear(3)
print(relu.__code__ is code)
try:
    relu(layer.weight)
except ValueError as error:
    print(error)
"""


def test_functions_refuse_the_first_parameters_without_values():
    done = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True)
    first, message = done.stdout.splitlines()
    assert first == "False", done.stderr
    assert message.startswith("`relu` cannot take an uninitialized parameter"), message


FOREIGN = """
from oneflow import mock_torch
mock_torch.enable()
import torch
from torch.nn.functional import linear

class Diagonal:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = func is torch.linalg.eigh or func.__name__
        return name, [kind.__name__ for kind in types], kwargs

d, x = Diagonal(), torch.ones(2, 2)
print(torch.sum(d, -1), torch.matmul(x, d), torch.cat((d, d), dim=0))
print(torch.linalg.eigh(d), linear(x, d))
print(torch.is_tensor(d), torch.typename(d))
for function in (torch.tensor, torch.as_tensor, torch.asarray, torch.from_numpy):
    try:
        function(d)
    except (RuntimeError, TypeError):
        print(function.__name__)
"""


def test_functions_ask_classes_that_are_no_tensors():
    done = subprocess.run([sys.executable, "-c", FOREIGN], capture_output=True, text=True)
    calls = [
        "('sum', ['Diagonal'], {}) ('matmul', ['Diagonal'], {}) ('cat', ['Diagonal'], {'dim': 0})",
        "(True, ['Diagonal'], {}) ('linear', ['Diagonal'], {})",
        "False __main__.Diagonal",
        *("tensor", "as_tensor", "asarray", "from_numpy"),
    ]
    assert done.stdout.splitlines() == calls, done.stderr


STATEMENTS = """
import builtins, sys
from oneflow import mock_torch
from oneflow.tensor.subclasses import FIRST_SUBCLASS
before = builtins.__build_class__

class Meta(type):
    def __new__(cls, name, bases, members):
        print(name, sys._getframe(1).f_code.co_name)
        return super().__new__(cls, name, bases, members)

def define():
    class Local(metaclass=Meta):
        __slots__ = ()

mock_torch.enable()
import torch
define()
with mock_torch.disable():
    print(builtins.__build_class__ is before)
print(builtins.__build_class__ is before, FIRST_SUBCLASS.exists)

class Asked(metaclass=Meta):
    __torch_function__ = None

print(FIRST_SUBCLASS.exists)
mock_torch.disable()
print(builtins.__build_class__ is before)
"""


def test_class_statements_run_as_always():
    done = subprocess.run([sys.executable, "-c", STATEMENTS], capture_output=True, text=True)
    lines = ["Local define", "True", "False False", "Asked <module>", "True", "True"]
    assert done.stdout.splitlines() == lines, done.stderr


FRAMES = """
from oneflow import mock_torch
mock_torch.enable()
import contextlib, sys, types, torch

class Asked:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return len(sys._getframe(2).f_locals["args"])

functions = [f for f in vars(torch).values() if isinstance(f, types.FunctionType) and f.__closure__]
counts = set()
for function in functions:
    with contextlib.suppress(Exception):
        answer = function(Asked())
        if type(answer) is int:  # `is_tensor` and `typename` do not ask
            counts.add(answer)
print(counts)
"""


def test_the_variables_of_functions_that_ask_can_be_shown():
    done = subprocess.run([sys.executable, "-c", FRAMES], capture_output=True, text=True)
    assert done.stdout == "{1}\n", done.stderr


METHODS = """
from oneflow import mock_torch
mock_torch.enable()
import torch

x, y = torch.ones(2), torch.ones(2)
add, code = torch.Tensor.add, torch.Tensor.add.__code__

class Asked:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = func.__name__
        return name, getattr(torch.Tensor, name) is func

class Refusing:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented
    def __radd__(self, other):
        return "reflected"

class Logged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print(func.__name__, end=" ")
        return super().__torch_function__(func, types, args, kwargs or {})

d, r = Asked(), Refusing()
print(x.add(d), x.matmul(d), x.copy_(d), x[d], x.sum(dim=d))
print(x + d, x - d, x @ d, x < d, x == d)
for write in ("x += d", "x *= d"):
    names = {"x": x, "d": d}
    exec(write, names)
    print(names["x"], end=" ")
print()
print(x + r)
for call in (lambda: x.add(r), lambda: x[r], lambda: x - r):
    try:
        call()
    except TypeError as error:
        print(str(error).partition(":")[0])
z = y.as_subclass(Logged)
z + 1, 1 - z, x.mul(z), z[0], -z, z.abs()
print()
print(type(x.mul(z)).__name__, type(x + y).__name__, type(x.add(y)).__name__)
import oneflow, pickle
named = (oneflow.neg_, torch.neg_, torch.Tensor.neg_, oneflow.add, torch.add, torch.Tensor.add)
print(all(pickle.loads(pickle.dumps(function)) is function for function in named))
"""


def test_methods_of_tensors_ask():
    done = subprocess.run([sys.executable, "-c", METHODS], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        " ".join(f"('{name}', True)" for name in ("add", "matmul", "copy_", "__getitem__", "sum")),
        " ".join(f"('{name}', True)" for name in ("add", "sub", "matmul", "lt", "__eq__")),
        "('add_', True) ('mul_', True) ",
        "reflected",
        "no implementation of `add` for ['Refusing']",
        "no implementation of `__getitem__` for ['Refusing']",
        "unsupported operand type(s) for -",
        "add __rsub__ mul __getitem__ neg abs ",
        "mul Logged Tensor Tensor",
        "True",
    ], done.stderr
