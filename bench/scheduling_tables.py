#!/usr/bin/env python3
"""Runs the scheduler's policies on a simulated device and prints the tables of docs/results/scheduling.md.

usage: scheduling_tables.py PROGRAM [TABLE...]

PROGRAM is build/release/bin/tickertape. Time is virtual: the figures do not depend on the machine.
"""
import json
import subprocess
import sys

MEMORY_LIMITED = ["--device", "a100", "--model-shape", "llama-7b", "--workload", "sharegpt-like",
                  "--num-kv-pages", "3072", "--max-num-seqs", "256"]
ROOMY = ["--device", "a100", "--model-shape", "llama-7b", "--max-num-seqs", "256"]
ADMISSIONS = ["prompt_only", "predicted", "reserve", "max_len"]


def simulate(*arguments):
    out = subprocess.run([PROGRAM, "simulate", *map(str, arguments), "--json", "-"], check=True,
                         capture_output=True, text=True).stdout
    result = json.loads(out)
    return result[0] if isinstance(result, list) else result


def table(title, columns, rows):
    print(f"\n### {title}\n")
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def capacity(num_requests):
    """Requests per second of `prompt_only` with a full queue."""
    full = simulate(*MEMORY_LIMITED, "--requests", num_requests, "--admission", "prompt_only")
    return num_requests / full["seconds"]


def admission():
    num_requests = 3000
    rate = capacity(num_requests)
    print(f"capacity (prompt_only, full queue): {rate:.2f} requests/s")
    rows = []
    for load in (0.5, 0.8, 1.0, 1.2, 1.5):
        for name in ADMISSIONS:
            run = simulate(*MEMORY_LIMITED, "--requests", num_requests, "--admission", name,
                           "--rate", f"{rate * load:.4f}")
            rows.append([load, name, round(run["tok_s"]), f"{run['preemptions'] / num_requests:.3f}",
                         run["recomputed_tokens"], f"{run['queue_p50_ms'] / 1e3:.1f}",
                         f"{run['queue_p99_ms'] / 1e3:.1f}", f"{100 * run['kv_waste_ratio']:.1f}"])
    table("Admission over load", ["load", "admission", "tok/s", "preemptions/request", "recomputed tokens",
                                  "queue p50 s", "p99 s", "waste of held places %"], rows)


def settings():
    num_requests = 3000
    rate = 1.2 * capacity(num_requests)
    rows = []
    for quantile in (0.5, 0.7, 0.9, 0.97):
        for buffer in (0, 0.02, 0.05, 0.1):
            run = simulate(*MEMORY_LIMITED, "--requests", num_requests, "--admission", "predicted",
                           "--rate", f"{rate:.4f}", "--admission-quantile", quantile,
                           "--admission-buffer", buffer)
            rows.append([quantile, buffer, round(run["tok_s"]), run["preemptions"],
                         f"{run['queue_p50_ms'] / 1e3:.1f}"])
    table("Quantile and buffer of `predicted`, load 1.2",
          ["quantile", "buffer", "tok/s", "preemptions", "queue p50 s"], rows)


def modes():
    rows = []
    for workload in ("sharegpt-like", "alpaca-like"):
        for mode in ("static", "static_sorted", "iteration", "chunked"):
            run = simulate(*ROOMY, "--workload", workload, "--requests", 3000, "--batching", mode,
                           "--max-tokens", 0 if mode.startswith("static") else 2048)
            rows.append([workload, mode, round(run["tok_s"]), f"{100 * run['slot_utilisation']:.1f}",
                         f"{100 * run['padding_ratio']:.1f}", f"{run['latency_p50_ms'] / 1e3:.1f}",
                         f"{run['latency_p99_ms'] / 1e3:.1f}"])
    table("Batching modes, all requests at once",
          ["workload", "mode", "tok/s", "slots %", "padding and finished rows %", "end p50 s", "p99 s"], rows)


def waste():
    rows = []
    for workload in ("sharegpt-like", "alpaca-like", "uniform:512,128"):
        for page_size in (1, 2, 4, 8, 16, 32, 64):
            run = simulate("--device", "a100", "--model-shape", "llama-7b", "--workload", workload,
                           "--num-kv-pages", 49152 // page_size, "--page-size", page_size,
                           "--max-num-seqs", "256", "--requests", 1500, "--admission", "predicted")
            rows.append([workload, page_size, f"{100 * run['kv_waste_ratio']:.2f}", round(run["tok_s"])])
    table("Waste inside pages", ["workload", "page size", "waste %", "tok/s"], rows)


TABLES = {"admission": admission, "settings": settings, "modes": modes, "waste": waste}

if __name__ == "__main__":
    if len(sys.argv) < 2 or any(name not in TABLES for name in sys.argv[2:]):
        sys.exit(__doc__)
    PROGRAM = sys.argv[1]
    for name in sys.argv[2:] or TABLES:
        TABLES[name]()
