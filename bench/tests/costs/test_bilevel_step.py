"""The work of one Hessian product, gated by its FLOPs; times are reported by the script."""

from enstruct_bench.costs.bilevel_step import product_flops


def test_a_product_costs_what_the_cached_double_backward_costs():
    flops = product_flops()
    assert flops["product"] <= 1.1 * 0.72  # GFLOP, ANCHORS.md section 4
    assert flops["product"] < 2 * flops["gradient"]
