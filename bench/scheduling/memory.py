"""Memory: how much of what is held holds nothing."""
from scheduling.program import A100, table

POOL_TOKENS = 49152


def waste(program):
    rows = []
    for workload in ("sharegpt-like", "alpaca-like", "uniform:512,128"):
        for page_size in (1, 2, 4, 8, 16, 32, 64):
            run = program.simulate(*A100, "--workload", workload, "--num-kv-pages", POOL_TOKENS // page_size,
                                   "--page-size", page_size, "--max-num-seqs", 256, "--requests", 1500,
                                   "--admission", "predicted")
            rows.append([workload, page_size, f"{100 * run['kv_waste_ratio']:.2f}", round(run["tok_s"])])
    table("Waste inside pages", ["workload", "page size", "waste %", "tok/s"], rows)
