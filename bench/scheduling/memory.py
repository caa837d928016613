"""Memory: how much of what is held holds nothing."""
from scheduling import contiguous
from scheduling.program import A100, MEMORY_LIMITED, SHAREGPT, table

POOL_TOKENS = 49152
MAX_LEN = 2048


def waste(program):
    rows = []
    for workload in ("sharegpt-like", "alpaca-like", "uniform:512,128"):
        for page_size in (1, 2, 4, 8, 16, 32, 64):
            run = program.simulate(*A100, "--workload", workload, "--num-kv-pages", POOL_TOKENS // page_size,
                                   "--page-size", page_size, "--max-num-seqs", 256, "--requests", 1500,
                                   "--admission", "predicted")
            total, inside = run["kv_waste_ratio"], run["kv_waste_last_page_ratio"]
            rows.append([workload, page_size, *(f"{100 * share:.2f}" for share in (total, inside, total - inside)),
                         round(run["tok_s"])])
    table("Waste inside pages", ["workload", "page size", "waste %", "in the last page %", "other %", "tok/s"], rows)


def allocators(program):
    """The same memory under three allocators, and one that grows: who runs, what is wasted, what comes out."""
    lengths = program.lengths("sharegpt-like", 1500)
    flags = (*MEMORY_LIMITED, *SHAREGPT, "--requests", len(lengths), "--max-model-len", MAX_LEN)
    kinds = (("max_len, contiguous", contiguous.MaxLen(MAX_LEN), ("--admission", "max_len")),
             ("true length, first fit", contiguous.TrueLength(), None),
             ("growing, first fit", contiguous.Growing(), None),
             ("paged", contiguous.Paged(), ("--admission", "prompt_only")))
    rows, bars = [], {"running": [], "waste": [], "tok_s": []}
    timelines = {}
    for name, kind, same in kinds:
        model = contiguous.Model(kind, POOL_TOKENS, lengths).run()
        timelines[name] = model.timeline
        running, free, largest, inside = (model.mean(value) for value in (
            lambda row: row[1], lambda row: row[2] / POOL_TOKENS, lambda row: row[3] / max(1, row[2]),
            lambda row: 1 - row[5] / max(1, row[4])))
        waste = model.mean(lambda row: 1 - row[5] / POOL_TOKENS)
        engine = program.simulate(*flags, *same)["tok_s"] if same else None
        rows.append([name, f"{running:.0f}", f"{100 * inside:.1f}", f"{100 * free:.1f}", f"{100 * largest:.0f}",
                     f"{100 * waste:.1f}", f"{model.preemptions / len(lengths):.2f}",
                     round(model.tokens / model.seconds), round(engine) if same else ""])
        for key, value in zip(bars, (running, 100 * waste, model.tokens / model.seconds)):
            bars[key].append(value)
    table("One memory, several allocators",
          ["allocator", "running", "held and empty %", "free %", "largest free run, % of the free",
           "memory without a token %", "preemptions/request", "tok/s", "the engine's tok/s"], rows)
    groups = ["max_len", "true length", "growing", "paged"]
    program.draw("allocators", "One memory, several allocators",
                 f"{len(lengths)} ShareGPT-like requests, Llama-2-7B shape on an A100, {POOL_TOKENS} token places",
                 [{"title": title, "y": {"title": unit}, "groups": groups, "bars": {"": bars[key]}}
                  for key, title, unit in (("running", "Running sequences", "sequences"),
                                           ("waste", "Memory without a token", "%"))],
                 [{"title": "Throughput", "y": {"title": "tokens / s"}, "groups": groups,
                   "bars": {"": bars["tok_s"]}},
                  fragments(timelines["true length, first fit"])])


def fragments(timeline):
    """Free memory and the largest run of it, over time."""
    lines = {"free": [], "largest run": []}
    now_s, shown_s = 0.0, 0.0
    for row in timeline:
        if now_s >= shown_s and row[-1]:
            lines["free"].append([now_s, row[2]])
            lines["largest run"].append([now_s, row[3]])
            shown_s += 0.5
        now_s += row[0]
    return {"title": "First fit of true lengths: free memory", "x": {"title": "time (s)"},
            "y": {"title": "token places"},
            "lines": [{"name": name, "marks": False, "points": points} for name, points in lines.items()]}
