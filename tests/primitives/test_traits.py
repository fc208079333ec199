"""The declarations of primitives are checked when they are registered."""

import pytest

from oneflow.primitives.registry import PRIMITIVES, Primitive
from oneflow.primitives.traits import Decomposition, Fusion, Kind, Positional, Precision, ViewRule


def identity(x, *, size: int = 1):
    return x


REFUSED = [
    ({"precision": "half"}, TypeError, "trait `precision` of primitive `example` must be of type"),
    ({"kind": "boxing"}, TypeError, "trait `kind`"),
    ({"fusion": True}, TypeError, "trait `fusion`"),
    ({"view": identity}, TypeError, "trait `view`"),
    ({"decomposition": identity}, TypeError, "trait `decomposition`"),
    ({"elementwis": True}, TypeError, "unexpected keyword argument 'elementwis'"),
    ({"kind": Kind.BOXING}, ValueError, "needs an attribute `source`"),
    ({"kind": Kind.TRANSFER}, ValueError, "needs an attribute `target`"),
    ({"positional": Positional()}, ValueError, "needs an attribute `shard`"),
]


@pytest.mark.parametrize(("declared", "kind", "message"), REFUSED)
def test_wrong_declarations_are_refused(declared, kind, message):
    with pytest.raises(kind, match=message):
        Primitive("example", identity, **declared)
    assert "example" not in PRIMITIVES


def test_positions_refer_to_an_operand():
    def impl(x, *, shard=None):
        return x

    with pytest.raises(ValueError, match="no operand `y` for positions"):
        Primitive("example", impl, positional=Positional("y"))
    assert Primitive("example", impl, positional=Positional("x")).traits.positional.operand == "x"


def test_views_have_an_operand():
    with pytest.raises(ValueError, match="view of nothing"):
        Primitive("example", lambda: 0, view=ViewRule(identity, identity))


def test_traits_have_defaults():
    traits = Primitive("example", identity).traits
    assert (traits.kind, traits.precision) == (Kind.COMPUTATION, Precision.AS_GIVEN)
    assert traits.fusion == Fusion()
    assert traits.view is traits.update is None
    with pytest.raises(AttributeError):
        traits.real_only = True


def test_composition_covers_the_cases_of_its_condition():
    decomposition = Decomposition(identity, lambda attributes: attributes["size"] > 1)
    assert [decomposition.matches({"size": size}) for size in (1, 2)] == [False, True]
    assert Decomposition(identity).matches({})


def test_convolutions_say_so():
    names = {
        name for name, primitive in PRIMITIVES.items() if primitive.traits.kind is Kind.CONVOLUTION
    }
    assert names == {"conv", "conv_input_adjoint", "conv_weight_adjoint"}
