"""The work of compiled programs, as it stands in their text: products, and copies of TPUs."""

import jax
import jax.numpy as jnp
import pytest

from oneflow.plan.hlo_account import account_of


def program(*lines, parameters):
    """The text of a program whose parameters are named a, b, ..."""
    given = [f"  %{name} = {shape} parameter(0)" for name, shape in parameters.items()]
    return "\n".join(["ENTRY %main (p: f32[]) -> f32[] {", *given, *lines, "}"])


# Lines as XLA writes them for GPUs and TPUs, the shapes of their operands, and operations.
CASES = {
    "dot": (
        "  ROOT %d = bf16[8,16,4]{2,1,0} dot(%a, %b), lhs_batch_dims={0}, "
        "lhs_contracting_dims={1}, rhs_batch_dims={0}, rhs_contracting_dims={1}",
        {"a": "bf16[8,32,16]{2,1,0}", "b": "bf16[8,32,4]{2,1,0}"},
        2 * 8 * 16 * 4 * 32,
    ),
    "cublas": (
        "  %g = (f32[16,4]{1,0}, s8[4194304]{0}) custom-call(%a, %b), custom_call_target="
        '"__cublas$gemm", backend_config={"gemm_backend_config":{"dot_dimension_numbers":'
        '{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"]}}}',
        {"a": "f32[16,32]{1,0}", "b": "f32[32,4]{1,0}"},
        2 * 16 * 4 * 32,
    ),
    "product of batches as a convolution over zeros": (
        "  ROOT %c = bf16[8,12,64,128]{3,2,1,0:T(8,128)(2,1)} convolution(%a, %b), "
        "window={size=8x12 stride=7x11 lhs_dilate=8x12}, dim_labels=01bf_01io->01bf",
        {"a": "bf16[8,12,64,32]{3,2,1,0}", "b": "bf16[8,12,32,128]{3,2,1,0}"},
        2 * 96 * 64 * 32 * 128,
    ),
    "convolution": (
        "  ROOT %c = f32[2,5,5,7]{3,2,1,0} convolution(%a, %b), window={size=3x3 stride=2x2 "
        "pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
        {"a": "f32[2,9,9,4]{3,2,1,0}", "b": "f32[3,3,4,7]{3,2,1,0}"},
        # The kernel reaches over the edges at two of five positions, along each dimension.
        2 * 2 * 7 * 4 * (5 * 3 - 2) ** 2,
    ),
    "gradient of a convolution's input by cuDNN": (
        "  %c = (f32[2,4,9,9]{3,2,1,0}, u8[0]{0}) custom-call(%a, %b), window={size=3x3 stride=2x2 "
        'pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, custom_call_target="__cudnn$convBackwardInput"',
        {"a": "f32[2,7,5,5]{3,2,1,0}", "b": "f32[7,4,3,3]{3,2,1,0}"},
        2 * 2 * 7 * 4 * (5 * 3 - 2) ** 2,
    ),
    "attention by cuDNN": (
        "  %f = (bf16[8,12,1024,64]{3,1,2,0}, u8[0]{0}) custom-call(%a, %b, %b), "
        'custom_call_target="__cudnn$fmhaSoftmax"',
        {"a": "bf16[8,1024,12,64]{3,2,1,0}", "b": "bf16[8,512,4,64]{3,2,1,0}"},
        2 * 2 * 8 * 12 * 1024 * 512 * 64,
    ),
    "gradients of splash attention": (
        "  %splash_mha_dkv_no_residuals.1 = (f32[1024,64]{1,0}) custom-call(%m, %a, %b, %b, %l), "
        'custom_call_target="tpu_custom_call", frontend_attributes={kernel_metadata={',
        {
            "m": "s8[1,4,4]{2,1,0}", "a": "bf16[16,1024,64]{2,1,0}", "b": "bf16[4,512,64]{2,1,0}",
            "l": "f32[16,8,1024]{2,1,0}",
        },
        5 * 2 * 16 * 1024 * 512 * 64,
    ),
    "splash attention with a mask of keys": (
        "  %splash_mha_fwd_segmented_residuals.1 = (bf16[2,4,1024,64]{3,2,1,0}) "
        'custom-call(%m, %a, %b, %b, %s), custom_call_target="tpu_custom_call"',
        {
            "m": "s8[1,1,1]{2,1,0}", "a": "bf16[2,4,1024,64]{3,2,1,0}",
            "b": "bf16[2,4,512,64]{3,2,1,0}", "s": "s32[2,8,512]{2,1,0}",
        },
        2 * 2 * 2 * 4 * 1024 * 512 * 64,
    ),
    "another custom call": (
        '  %o = f32[4]{0} custom-call(%a), custom_call_target="X64Combine"',
        {"a": "f32[4]{0}"},
        0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_operations_of_lines(name):
    line, parameters, flops = CASES[name]
    assert account_of(program(line, parameters=parameters)).flops == flops


NEAR, FAR = "{1,0:T(8,128)(2,1)S(1)}", "{1,0:T(8,128)(2,1)}"


def test_copies_into_the_memory_of_a_core_are_read_once():
    """They are no kernels, and what a kernel reads there is in no other memory."""
    copies = [
        f"  %s = ((bf16[64,128]{FAR}), bf16[16,128]{NEAR}, s32[]{{:S(2)}}) slice-start(%a)",
        f"  %t = bf16[16,128]{NEAR} slice-done(%s)",
        f"  %c = (bf16[64,128]{NEAR}, bf16[64,128]{FAR}, u32[]{{:S(2)}}) copy-start(%a)",
        f"  %d = bf16[64,128]{NEAR} copy-done(%c)",
        f'  %b = bf16[64,128]{NEAR} custom-call(%t, %t), custom_call_target="ConcatBitcast"',
    ]
    account = account_of(program(*copies, parameters={"a": f"bf16[64,128]{FAR}"}))
    assert (account.kernels, account.bytes) == (0, (16 + 64) * 128 * 2 + 4)
    kernels = [f"  %n = bf16[64,128]{NEAR} negate(%d)", f"  ROOT %r = bf16[64,128]{FAR} negate(%n)"]
    account = account_of(program(*copies, *kernels, parameters={"a": f"bf16[64,128]{FAR}"}))
    assert (account.kernels, account.bytes) == (2, (16 + 64 + 64) * 128 * 2 + 4)


def test_of_two_branches_the_cheaper_one_counts():
    def either(x, w):
        return jax.lax.cond(x[0, 0] > 0, lambda: x @ w, lambda: jnp.tanh(x @ w @ w @ w))

    x, w = jnp.ones((8, 16)), jnp.ones((16, 16))
    text = jax.jit(either).lower(x, w).compile().as_text()
    assert account_of(text).flops == 2 * 8 * 16 * 16


def test_operations_in_loops_count_as_often_as_they_run():
    def steps(x, w):
        return jax.lax.scan(lambda x, _: (jnp.tanh(x @ w), None), x, length=5)[0]

    x, w = jnp.ones((8, 16)), jnp.ones((16, 16))
    text = jax.jit(steps).lower(x, w).compile().as_text()
    assert account_of(text).flops == 5 * 2 * 8 * 16 * 16
