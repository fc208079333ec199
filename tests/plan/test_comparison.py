"""Plans compared in one table, chips from a file, and what a step costs."""

import dataclasses
import re
from pathlib import Path

import jax
import pytest

import oneflow as flow
from oneflow.compiler import persistent_cache
from oneflow.plan import chip_named, plan_graph, planning, register_chips
from oneflow.plan.command import main
from oneflow.plan.comparison import performance_of, performance_text
from oneflow.plan.hlo_account import account_of
from oneflow.primitives.cost.chips import Chip

GPT = "examples/plans.py:gpt"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "planner.md"
SEARCH = re.compile(
    r"python -m oneflow plan ([^\n]*--search[^\n]*)\n```\n\n```text\n(.*?)```", re.DOTALL
)


# Values that a field of a chip does not take, as in TOML.
WRONG = {
    "type": ['"zpu"', "3", "[]"],
    "flops": ["3", "{}", "{ float32 = 1e12 }", '{ float32 = "1", bfloat16 = 1 }'],
    "memory": ["-5", "0", '"80GB"', "true", "1.5"],
    "bandwidth": ["0", "-1.0", "nan", "inf", '"1"'],
    "link": ["0.0", "[1]"],
    "network": ["-1", "{}"],
    "latency": ["-1e-6", '"1 us"', "inf"],
    "node_size": ["0", "-8", "8.0"],
    "target": ["3", "[]"],
}


class Lookup(flow.nn.Graph):
    def __init__(self, table):
        super().__init__()
        self.table = table

    def build(self, tokens):
        return self.table(tokens).exp() @ self.table.weight.T


def lookup_plan(chip):
    with planning():
        pair = flow.placement("cuda", [0, 1])
        table = flow.nn.Embedding(1 << 16, 1024).to_global(pair, flow.sbp.broadcast)
        tokens = flow.ones(8, 64, dtype=flow.int64, placement=pair, sbp=flow.sbp.split(0))
        return plan_graph(Lookup(table), tokens, compile=False, chip=chip)


SEARCHES = SEARCH.findall(PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("arguments", "shown"), SEARCHES, ids=range(len(SEARCHES)))
def test_the_page_shows_a_search(arguments, shown, capsys):
    main(arguments.split())
    assert capsys.readouterr().out == shown


def test_a_comparison_keeps_the_order(capsys):
    main([GPT, "--model", "--compare", "--chips", "h100:8", "zero=3,0", "layers=1"])
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["zero", "memory"]
    assert "per million" not in head
    assert [row.split()[0] for row in rows] == ["3", "0"]


@pytest.fixture
def refusing(tmp_path):
    """A function that refuses some arguments."""
    file = tmp_path / "refusing.py"
    file.write_text(
        "import oneflow as flow\n"
        "class Twice(flow.nn.Graph):\n"
        "    def build(self, x):\n"
        "        return x * 2\n"
        "def make(placement, rows=1):\n"
        "    if rows > 9:\n"
        "        raise RuntimeError('too many rows')\n"
        "    x = flow.ones(rows, 4, placement=placement, sbp=flow.sbp.broadcast)\n"
        "    return Twice(), (x,)\n"
    )
    return f"{file}:make"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("99", "RuntimeError: too many rows"),
        ("-1", "RuntimeError: "),
        ("", "TypeError: '>' not supported"),
        ("None", "TypeError: '>' not supported"),
    ],
)
def test_what_cannot_be_planned_says_why(rows, said, capsys, refusing):
    main([refusing, "--model", "--search", f"rows={rows},4"])
    out = capsys.readouterr().out
    assert re.search(rf"{rows} +cannot be planned", out)
    assert f"rows={rows}: {said}" in out
    assert out.endswith("the fastest that fits: rows=4\n")


def test_a_search_without_alternatives_names_what_it_has(capsys, refusing):
    main([refusing, "--model", "--search", "rows=4"])
    assert capsys.readouterr().out.endswith("the fastest that fits: rows=4\n")


def test_a_step_without_tokens_or_work(capsys, refusing):
    main([refusing, "--model", "--price", "2", "--compare", "rows=0"])
    assert re.search(r"^0 .* 0 ns +0 +0.0% +0.0000$", capsys.readouterr().out, re.MULTILINE)
    main([refusing, "--model", "--price", "2", "--tokens", "3", "rows=0"])
    assert "3 tokens a step, inf tokens/s" in capsys.readouterr().out


@pytest.mark.parametrize("tokens", [0, -3])
def test_tokens_are_positive(tokens):
    contents = lookup_plan(chip_named("h100")).contents
    for function in (performance_of, performance_text):
        with pytest.raises(ValueError, match=f"`tokens` must be positive, got {tokens}"):
            function(contents, tokens)


def test_performance():
    chip = chip_named("h100")
    plan = lookup_plan(chip)
    found = performance_of(plan.contents, price=3.6)
    assert found.tokens == 8 * 64
    assert found.tokens_per_second == pytest.approx(512 / plan.seconds)
    assert found.utilization == pytest.approx(
        plan.contents.model.flops / plan.seconds / chip.flops["bfloat16"]
    )
    # Two chips for 3.6 an hour each.
    assert found.price == pytest.approx(2 * 0.001 * plan.seconds / 512 * 1e6)
    assert performance_of(plan.contents, tokens=7).tokens == 7


def test_the_largest_values_are_listed_if_memory_is_short():
    chip = chip_named("h100")
    assert "largest values" not in repr(lookup_plan(chip))
    text = repr(lookup_plan(dataclasses.replace(chip, name="little", memory=1 << 20)))
    lines = text[text.index("largest values") :].splitlines()
    assert re.search(r"256 MiB +table.weight +parameter +float32\[65536,1024\]", lines[2])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[mine]\nlike = "h1000"\n', "no chip is called 'h1000'.*did you mean 'h100'"),
        ('[mine]\nlike = "h100"\nbandwith = 1.0\n', "no field 'bandwith'.*mean 'bandwidth'"),
        ("[mine]\nmemory = 1\n", "`mine` lacks type, flops, bandwidth"),
        ("mine = 3\n", "`mine` must be a table"),
        ("mine = \n", "chips.toml: Invalid value"),
        ('["\\u001b[2J"]\nlike = "h100"\n', r"called '\\x1b\[2J'"),
        ('[""]\nlike = "h100"\n', "cannot be called ''"),
        ('["h100:8"]\nlike = "h100"\n', "cannot be called 'h100:8'"),
        ('[mine]\nlike = ""\n', "no chip is called ''"),
        ("[mine]\nlike = 5\n", "`like` of `mine` must be the name of a chip, got 5"),
        *(
            (f'[mine]\nlike = "h100"\n{field} = {value}\n', f"chips.toml: `{field}` of `mine`")
            for field, values in WRONG.items()
            for value in values
        ),
    ],
)
def test_files_of_chips_that_are_wrong(text, message, tmp_path):
    file = tmp_path / "chips.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        register_chips(file)


def test_every_field_of_chips_is_checked():
    assert WRONG.keys() == {field.name for field in dataclasses.fields(Chip)} - {"name"}


def test_a_chip_without_a_like_in_a_file(tmp_path):
    file = tmp_path / "chips.toml"
    file.write_text(
        '["board.1"]\ntype = "tpu"\nmemory = 1_000\nbandwidth = 5\nlink = 1e9\nnetwork = 1.0\n'
        "latency = 0\nnode_size = 1\nflops = { bfloat16 = 1e12, float32 = 5e11 }\n"
    )
    assert register_chips(file) == ["board.1"]
    assert chip_named("board.1").flops["float32"] == 5e11


def test_a_file_of_chips_on_the_command_line(tmp_path, capsys):
    file = tmp_path / "chips.toml"
    file.write_text('[h100_like]\nlike = "h100"\nmemory = 1_000_000\n')
    command = [GPT, "--model", "--search", "--chip-file", str(file), "--chips", "h100_like:2"]
    main([*command, "layers=1,2"])
    assert capsys.readouterr().out.endswith("none fits\n")
    file.write_text("[mine]\nlike = 5\n")
    with pytest.raises(SystemExit, match=r"chips\.toml: `like` of `mine` must be"):
        main([*command, "layers=1,2"])
    with pytest.raises(SystemExit, match="No such file"):
        main([*command, "--chip-file", str(tmp_path / "none.toml"), "layers=1,2"])


def test_programs_for_absent_chips_are_not_cached(tmp_path):
    before = jax.config.jax_compilation_cache_dir
    persistent_cache._set_folder(str(tmp_path))
    try:
        with persistent_cache.without_cache():
            assert not persistent_cache.is_enabled()
        assert jax.config.jax_compilation_cache_dir == str(tmp_path)
    finally:
        persistent_cache._set_folder(before)


HLO = """\
ENTRY %main (p: f32[8]) -> f32[8] {
  %p = f32[8] parameter(0)
  %begun = f32[8] all-reduce-start(%p), replica_groups={{0,1}}
  %beside = f32[8] negate(%p)
  %done = f32[8] all-reduce-done(%begun)
  ROOT %last = f32[8] add(%done, %beside)
}
"""


def test_kernels_beside_collectives_are_counted():
    account = account_of(HLO)
    assert (account.asynchronous, account.overlapped) == (1, 1)


class HalfStep(flow.nn.Graph):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.add_optimizer(flow.optim.SGD(model.parameters(), lr=0.1))
        self.config.enable_amp(True, dtype=flow.bfloat16)

    def build(self, x):
        loss = self.model(x).float().square().mean()
        loss.backward()
        return loss


def test_gradients_are_added_up_in_the_type_of_the_parameters():
    with planning():
        pair = flow.placement("cuda", [0, 1])
        model = flow.nn.Linear(256, 128).to_global(pair, flow.sbp.broadcast)
        x = flow.ones(4096, 256, placement=pair, sbp=flow.sbp.split(0))
        plan = plan_graph(HalfStep(model), x, compile=False)
    (reduced,) = [total for total in plan.account.collectives if total.kind == "all-reduce"]
    assert reduced.operand_bytes == 4 * (128 * 256 + 128)
