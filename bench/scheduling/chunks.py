"""Chunks: what long prompts do to those who are reading their answers."""
from scheduling.program import ROOMY, percentile, table

RATE = 40
NUM_REQUESTS = 2000
BUDGET = ("--max-num-batched-tokens", 2304)  # Room for the largest chunk and everybody's next token.
WHOLE = ("whole prompts", ("--batching", "iteration", *BUDGET))
SIZES = (64, 128, 256, 512, 1024, 2048)
TARGETS_MS = (12, 15, 20, 30)
SHORT_PROMPT = 20
LEARNED_MS = 2000  # By then enough passes are measured.


def chunks_of(size):
    return f"chunks of {size}", (*BUDGET, "--prefill-chunk", size)


def adaptive(target_ms):
    return f"adaptive, {target_ms} ms", (*BUDGET, "--itl-target-ms", target_ms)


def run(program, flags):
    return program.simulate_logged(*ROOMY, "--workload", "long-and-short", "--rate", RATE, "--requests",
                                   NUM_REQUESTS, *flags)


def long_and_short(program):
    rows = []
    for name, flags in (WHOLE, *map(chunks_of, SIZES), *map(adaptive, TARGETS_MS)):
        logged = run(program, flags)
        short = [one for one in logged.requests if one["prompt_tokens"] == SHORT_PROMPT]
        long = [one["ttft_ms"] for one in logged.requests if one["prompt_tokens"] > SHORT_PROMPT]
        figures = logged.figures
        rows.append([name, f"{figures['itl_p50_ms']:.1f}", f"{figures['itl_p99_ms']:.1f}",
                     *(f"{max(one['longest_gap_ms'] for one in short if one['arrival_ms'] >= from_ms):.1f}"
                       for from_ms in (0, LEARNED_MS)),
                     f"{percentile(long, 0.5):.0f}", f"{percentile(long, 0.99):.0f}",
                     f"{percentile([one['ttft_ms'] for one in short], 0.99):.0f}", round(figures["tok_s"])])
    table("Long prompts beside running streams",
          ["prompts", "ITL p50 ms", "p99", "most", "later", "TTFT of long p50 ms", "p99", "of short p99", "tok/s"], rows)
    draw(program)


def draw(program):
    from_ms, to_ms = 20_000, 22_000  # When the load is steady.
    shown = (WHOLE, chunks_of(256), adaptive(15))
    runs = [run(program, flags) for _, flags in shown]
    timeline = [{"name": name, "marks": False, "steps": True,
                 "points": [[tick["start_ms"] / 1e3, tick["pass_ms"]] for tick in logged.ticks
                            if from_ms <= tick["start_ms"] < to_ms]}
                for (name, _), logged in zip(shown, runs)]
    # The same number of tokens takes about the same time: one point for each is enough.
    passes = {tick["tokens"]: tick["pass_ms"] for logged in runs[1:] for tick in logged.ticks}
    passes |= {tick["tokens"]: tick["pass_ms"] for tick in run(program, chunks_of(2048)[1]).ticks}
    points = [[tokens, ms] for tokens, ms in sorted(passes.items())]
    program.draw(
        "long_and_short", "Long prompts beside running streams",
        f"long-and-short, {RATE} requests/s, Llama-2-7B shape on an A100",
        [{"title": "Time of each pass: between two tokens of everybody", "x": {"title": "time (s)", "from_zero": False},
          "y": {"title": "pass (ms)"}, "lines": timeline}],
        [{"title": "Pass time over its tokens", "x": {"title": "tokens in the pass", "log": True},
          "y": {"title": "pass (ms)", "log": True},
          "lines": [{"name": "", "line": False, "points": points}],
          "marks": {"compute-bound from here": runs[0].figures["balance_tokens"]}}])
