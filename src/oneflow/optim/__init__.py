"""Optimizers and learning-rate schedulers."""

from typing import TYPE_CHECKING

from oneflow.base.lazy_import import lazy_getattr as _lazy_getattr
from oneflow.optim import lr_scheduler as lr_scheduler, swa_utils as swa_utils, utils as utils
from oneflow.optim.adadelta import Adadelta as Adadelta
from oneflow.optim.adafactor import Adafactor as Adafactor
from oneflow.optim.adagrad import Adagrad as Adagrad
from oneflow.optim.adam import Adam as Adam, AdamW as AdamW
from oneflow.optim.adamax import Adamax as Adamax
from oneflow.optim.asgd import ASGD as ASGD
from oneflow.optim.lamb import LAMB as LAMB
from oneflow.optim.lbfgs import LBFGS as LBFGS
from oneflow.optim.muon import Muon as Muon
from oneflow.optim.nadam import NAdam as NAdam
from oneflow.optim.optimizer import Optimizer as Optimizer
from oneflow.optim.radam import RAdam as RAdam
from oneflow.optim.rmsprop import RMSprop as RMSprop
from oneflow.optim.rprop import Rprop as Rprop
from oneflow.optim.sgd import SGD as SGD
from oneflow.optim.sparse_adam import SparseAdam as SparseAdam

if not TYPE_CHECKING:  # for a type checker it would give every name a meaning
    __getattr__ = _lazy_getattr(__name__)
