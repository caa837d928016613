"""Published: the gains that others report, on their lengths and their memory."""
import random

from scheduling.program import table

NUM_REQUESTS = 2000
MAX_LEN = 2048  # Of a sequence: what a contiguous cache keeps for each.
SEVEN_B = ("--device", "a100", "--model-shape", "llama-7b", "--max-model-len", MAX_LEN)
# The first setting of the vLLM paper: OPT-13B on an A100 of 40 GB, with room for 15.7k tokens.
THIRTEEN_B = ("--device", "a100", "--model-shape", "opt-13b", "--max-model-len", MAX_LEN, "--num-kv-pages", 981)
SETTINGS = (("7B, 80 GB", SEVEN_B), ("7B, 49k tokens", (*SEVEN_B, "--num-kv-pages", 3072)),
            ("13B, 15.7k tokens", THIRTEEN_B))
SYSTEMS = (
    ("static", ("--batching", "static", "--max-tokens", 0)),
    ("Orca, max", ("--batching", "iteration", "--admission", "max_len")),
    ("Orca, oracle", ("--batching", "iteration", "--admission", "reserve", "--max-tokens", 0)),
    ("paged", ("--batching", "chunked", "--admission", "predicted")),
)


def row_of(program, *flags):
    """Tokens per second with a full queue: static, the two kinds of reservation, paged; and the gains."""
    found = [program.simulate(*flags, "--max-num-seqs", 256, *system)["tok_s"] for _, system in SYSTEMS]
    return [*map(round, found), *(f"{found[-1] / one:.1f}" for one in found[:-1])]


def gains(program):
    rows = [[name, workload, *row_of(program, *flags, "--workload", workload, "--requests", NUM_REQUESTS)]
            for name, flags in SETTINGS for workload in ("sharegpt-like", "alpaca-like")]
    table("Gains beside the published ones", ["setting", "lengths", *(name for name, _ in SYSTEMS),
                                              "over static", "over max", "over oracle"], rows)


def anyscale(program):
    """Prompts of 512 tokens, answers exponential with a mean of 128, cut at rising lengths."""
    dice = random.Random(1)
    draws = [dice.expovariate(1 / 128) for _ in range(1000)]
    rows = []
    for most in (32, 128, 512, 1536):
        requests = [{"prompt_tokens": 512, "max_tokens": most, "output_tokens": min(most, 1 + int(length))}
                    for length in draws]
        workload = program.workload(requests)
        exact = program.workload([{**one, "max_tokens": one["output_tokens"]} for one in requests],
                                 "exact.jsonl")
        static, static_full, paged = (
            program.simulate(*THIRTEEN_B, "--max-num-seqs", 256, *flags) for flags in (
                (*exact, "--batching", "static", "--static-batch-size", 8),
                (*exact, "--batching", "static"),
                (*workload, "--batching", "chunked")))
        rows.append([most, round(static["tok_s"]), round(static_full["tok_s"]), round(paged["tok_s"]),
                     f"{paged['tok_s'] / static['tok_s']:.1f}", f"{paged['tok_s'] / static_full['tok_s']:.1f}"])
    table("Over static batches, as answers spread", ["answers up to", "static, batches of 8", "as large as fits",
                                                     "paged", "over 8", "over as large as fits"], rows)
