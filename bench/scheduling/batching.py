"""Batching: the four modes beside each other."""
from scheduling.program import ROOMY, SHAREGPT, table

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


def over_load(program):
    num_requests = 1500
    rates = (0.5, 1, 2, 4, 8, 12, 16, 20)
    rows, lines = [], {"tok_s": [], "ttft_p99_ms": [], "itl_p99_ms": []}
    for mode in MODES:
        runs = [program.simulate(*ROOMY, *SHAREGPT, "--requests", num_requests, "--rate", rate, *mode_flags(mode))
                for rate in rates]
        rows += [[mode, rate, round(run["tok_s"]), f"{run['ttft_p50_ms'] / 1e3:.2f}",
                  f"{run['ttft_p99_ms'] / 1e3:.2f}", f"{run['itl_p50_ms']:.1f}", f"{run['itl_p99_ms']:.1f}",
                  f"{run['latency_p50_ms'] / 1e3:.1f}"] for rate, run in zip(rates, runs)]
        for name, series in lines.items():
            series.append({"name": mode, "points": [[rate, run[name]] for rate, run in zip(rates, runs)]})
    table("Batching modes over offered load", ["mode", "requests/s", "tok/s", "TTFT p50 s", "p99 s",
                                               "ITL p50 ms", "p99 ms", "end p50 s"], rows)
    axis = {"title": "requests / s"}
    program.draw("offered_load", "Batching modes over offered load",
                 f"{num_requests} requests, ShareGPT-like lengths, Llama-2-7B shape on an A100, 256 slots",
                 [{"title": "Throughput", "x": axis, "y": {"title": "tokens / s"}, "lines": lines["tok_s"]}],
                 [{"title": "Time to first token, p99", "x": axis, "y": {"title": "ms", "log": True},
                   "lines": lines["ttft_p99_ms"]}],
                 [{"title": "Time between tokens, p99", "x": axis, "y": {"title": "ms"}, "lines": lines["itl_p99_ms"]}])
