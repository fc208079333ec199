"""The base class of modules, under the path that users import it from."""

from oneflow.module.module import Module as Module
