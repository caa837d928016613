"""Batching: the four modes beside each other."""
from scheduling.program import ROOMY, table

MODES = ("static", "static_sorted", "iteration", "chunked")


def mode_flags(mode):
    """The static ones are told the true lengths, since they reserve; the others learn them."""
    return ("--batching", mode, "--max-tokens", 0 if mode.startswith("static") else 2048)


def all_at_once(program):
    rows = []
    for workload in ("sharegpt-like", "alpaca-like"):
        for mode in MODES:
            run = program.simulate(*ROOMY, "--workload", workload, "--requests", 3000, *mode_flags(mode))
            rows.append([workload, mode, round(run["tok_s"]), f"{100 * run['slot_utilisation']:.1f}",
                         f"{100 * run['padding_ratio']:.1f}", f"{run['latency_p50_ms'] / 1e3:.1f}",
                         f"{run['latency_p99_ms'] / 1e3:.1f}"])
    table("Batching modes, all requests at once",
          ["workload", "mode", "tok/s", "slots %", "padding and finished rows %", "end p50 s", "p99 s"], rows)
