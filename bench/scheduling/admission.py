"""Admission: what each policy does under rising load, and the settings of `predicted`."""
from scheduling.program import MEMORY_LIMITED, SHAREGPT, capacity, table

POLICIES = ("prompt_only", "predicted", "reserve", "max_len")
NUM_REQUESTS = 3000


def over_load(program):
    rate = capacity(program, NUM_REQUESTS)
    print(f"capacity (prompt_only, full queue): {rate:.2f} requests/s")
    rows = []
    for load in (0.5, 0.8, 1.0, 1.2, 1.5):
        for name in POLICIES:
            run = program.simulate(*MEMORY_LIMITED, *SHAREGPT, "--requests", NUM_REQUESTS,
                                   "--admission", name,
                                   "--rate", f"{rate * load:.4f}")
            rows.append([load, name, round(run["tok_s"]), f"{run['preemptions'] / NUM_REQUESTS:.3f}",
                         run["recomputed_tokens"], f"{run['queue_p50_ms'] / 1e3:.1f}",
                         f"{run['queue_p99_ms'] / 1e3:.1f}", f"{100 * run['kv_waste_ratio']:.1f}"])
    table("Admission over load", ["load", "admission", "tok/s", "preemptions/request", "recomputed tokens",
                                  "queue p50 s", "p99 s", "waste of held places %"], rows)


def settings(program):
    rate = 1.2 * capacity(program, NUM_REQUESTS)
    rows = []
    for quantile in (0.5, 0.7, 0.9, 0.97):
        for buffer in (0, 0.02, 0.05, 0.1):
            run = program.simulate(*MEMORY_LIMITED, *SHAREGPT, "--requests", NUM_REQUESTS,
                                   "--admission", "predicted",
                                   "--rate", f"{rate:.4f}", "--admission-quantile", quantile,
                                   "--admission-buffer", buffer)
            rows.append([quantile, buffer, round(run["tok_s"]), run["preemptions"],
                         f"{run['queue_p50_ms'] / 1e3:.1f}"])
    table("Quantile and buffer of `predicted`, load 1.2",
          ["quantile", "buffer", "tok/s", "preemptions", "queue p50 s"], rows)
