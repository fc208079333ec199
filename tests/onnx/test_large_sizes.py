"""Every number of a model that may be a size: one that no machine has is answered at once."""

import pytest
from onnx import defs

import oneflow as flow
from oneflow_onnx.x2oneflow import registry
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx
from oneflow_onnx.x2oneflow.operators import control_flow
from tests.little_memory import SIZES, faults
from tests.onnx import large_sizes
from tests.onnx.models import parsed
from tests.sampling import Sample

INTEGERS = {f"tensor({name})" for name in ("int32", "int64", "uint32", "uint64")}


def test_large_sizes_are_answered_at_once(sample: Sample):
    """A model has a result, or an error of ours, within a little memory and time."""
    seed = [] if sample.is_whole else [str(sample.seed)]
    count, found = faults("tests.onnx.large_sizes", *seed)
    assert count >= (200 if seed else 20_000)
    assert found == {}


def places_of(domain: str, name: str) -> set[str | int]:
    """The places of an operator that take integers, or that the host reads."""
    if not defs.has(name, domain):  # of others than ONNX
        return set()
    schema = defs.get_schema(name, domain)
    operator = registry.find_operator(domain, name, schema.since_version)
    numbers = {
        n for n, attribute in schema.attributes.items() if attribute.type.name in ("INT", "INTS")
    }
    operands = {
        place
        for place, operand in enumerate(schema.inputs)
        if "tensor(bool)" not in operand.types
        and (place in operator.host or (operand.types and set(operand.types) <= INTEGERS))
    }
    return numbers | operands


@pytest.mark.xdist_group("onnx_node_cases")
def test_every_place_of_a_size_has_rows():
    """Whoever adds an operator that ONNX has no case of adds one of ours."""
    rows = {row.place for row in large_sizes.all_rows()}
    missing = {
        (domain, name, place)
        for domain, name in registry.operator_names()
        for place in places_of(domain, name)
        if (domain, name, place) not in rows
    }
    assert missing == set()


# Bodies of loops, and whether their conditions can only be what they were.
BODIES = {
    "the condition again": ("d = Identity(c)", True),
    "a constant": ("d = Constant <value = bool {1}> ()", True),
    "a number from around": ("d = Cast <to = 9> (two)", True),
    "computed": ("five = Constant <value = int64 {5}> () d = Less(i, five)", False),
}
LOOP = """g (float[1] x) => (float[k] y, float[m, k] z)
    <int64 trips = {%s}, bool go = {1}, float two = {2}> {
    y, z = Loop (trips, go, x) <body = body (int64 i, bool c, float[k] a)
        => (bool d, float[k] b, float[k] row) { %s b = Mul(a, two) row = Neg(a) }>
}"""


@pytest.mark.parametrize("trips", SIZES)
@pytest.mark.parametrize("name", BODIES)
def test_loops_that_only_a_large_count_ends_are_refused(name, trips):
    """A loop that a condition ends may have any count: exporters write the largest there is."""
    condition, is_endless = BODIES[name]
    module = from_onnx(parsed(LOOP % (trips, condition)))
    if is_endless:
        with pytest.raises(RuntimeError, match=f"trip count must be at most 1000000, not {trips}"):
            module(flow.ones(1))
    else:
        assert module(flow.ones(1))[0].item() == 2**6
        assert from_onnx(parsed(LOOP % (3, condition)))(flow.ones(1))[0].item() == 2**3


INNER = """g (float[n] x) => (float[n] y) <int64 outer = {20}, int64 inner = {%s}, bool go = {1}> {
    y = Loop (outer, go, x) <body = out (int64 i, bool c, float[n] a) => (bool d, float[n] b) {
        d = Identity(c)
        b = Loop (inner, c, a) <body = in (int64 j, bool e, float[n] f) => (bool h, float[n] k) {
            h = Identity(e)
            k = Identity(f)
        }>
    }>
}"""


def test_loops_in_loops_are_counted_together(monkeypatch):
    """Each level would multiply the iterations."""
    monkeypatch.setattr(control_flow, "_MOST_ITERATIONS", 100)
    for _ in range(2):
        assert from_onnx(parsed(INNER % 4))(flow.ones(1)).item() == 1
    with pytest.raises(RuntimeError, match="for at most 100 iterations"):
        from_onnx(parsed(INNER % 5))(flow.ones(1))


def test_scans_of_many_slices_are_refused():
    body = "body (float a) => (float b) { b = Neg(a) }"
    text = "g (int64[1] s) => (float[n] y) {"
    text += f" x = ConstantOfShape(s) y = Scan <num_scan_inputs = 1, body = {body}> (x) }}"
    module = from_onnx(parsed(text))
    assert module(flow.tensor([3])).shape == (3,)
    with pytest.raises(RuntimeError, match="iterations"):
        module(flow.tensor([2**27]))
