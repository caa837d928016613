"""Grid: admission, preemption and chunk size together, and which of them interact."""
import itertools
import math

from scheduling.program import MEMORY_LIMITED, SHAREGPT, capacity, table

FACTORS = {
    "admission": ("predicted", "prompt_only", "reserve", "max_len"),
    "preemption": ("auto", "recompute", "swap"),
    "chunk": (64, 256, 1024),
}
SEEDS = (1, 2, 3)
NUM_REQUESTS = 2000
BUDGET = 1280  # Room for the largest chunk beside everybody's next token.
ANSWERS = {"tok_s": "tok/s", "itl_p99_ms": "ITL p99", "ttft_p99_ms": "TTFT p99", "latency_p99_ms": "end p99"}


def run(program, rate, admission, preemption, chunk, seed):
    return program.simulate(*MEMORY_LIMITED, *SHAREGPT, "--requests", NUM_REQUESTS, "--rate", f"{rate:.4f}",
                            "--workload-seed", seed, "--admission", admission, "--preemption", preemption,
                            "--prefill-chunk", chunk, "--max-num-batched-tokens", BUDGET,
                            "--device-link", 16, "--swap-space", "16GiB")


def effects(answers):
    """Of each set of factors the share of the variance that is its own (analysis of variance, balanced).

    `answers`: by the values of all factors and the seed. Seeds are blocks: what they differ by in all cells
    alike is taken out first, and what is left of them within a cell is noise.
    """
    by_seed = {seed: [value for cell, value in answers.items() if cell[-1] == seed] for seed in SEEDS}
    found = {cell: value - sum(by_seed[cell[-1]]) / len(by_seed[cell[-1]]) for cell, value in answers.items()}
    names = list(FACTORS)
    places = range(len(names))
    own = {(): {(): 0.0}}  # What a set of factors adds to all of its own parts.
    shares = {}
    total = sum(value * value for value in found.values())
    for subset in itertools.chain.from_iterable(itertools.combinations(places, size) for size in (1, 2, 3)):
        groups = {}
        for cell, value in found.items():
            groups.setdefault(tuple(cell[place] for place in subset), []).append(value)
        parts = [part for part in own if set(part) < set(subset)]
        own[subset] = {
            key: sum(values) / len(values) - sum(
                own[part][tuple(key[subset.index(place)] for place in part)] for part in parts)
            for key, values in groups.items()}
        squares = sum(own[subset][key] ** 2 * len(values) for key, values in groups.items())
        shares[" x ".join(names[place] for place in subset)] = squares / total
    return shares | {"noise": 1 - sum(shares.values())}


def share_table(title, runs):
    """Of logarithms: factors that do not interact multiply."""
    shares = {name: effects({cell: math.log(one[name]) for cell, one in runs.items()}) for name in ANSWERS}
    table(title, ["of", *ANSWERS.values()],
          [[effect, *(f"{100 * shares[name][effect]:.1f}" for name in ANSWERS)] for effect in shares["tok_s"]])


def grid(program):
    rate = 1.2 * capacity(program, 3000)
    runs = {(*cell, seed): run(program, rate, *cell, seed)
            for cell in itertools.product(*FACTORS.values()) for seed in SEEDS}
    rows = []
    for admission, preemption, chunk in itertools.product(*FACTORS.values()):
        group = [runs[(admission, preemption, chunk, seed)] for seed in SEEDS]
        mean = {name: sum(one[name] for one in group) / len(group) for name in (*ANSWERS, "preemptions")}
        if mean["preemptions"] == 0 and preemption != FACTORS["preemption"][0]:
            continue  # The same run: nobody was preempted.
        rows.append([admission, preemption if mean["preemptions"] else "any", chunk, round(mean["tok_s"]),
                     f"{mean['itl_p99_ms']:.0f}", f"{mean['ttft_p99_ms'] / 1e3:.1f}",
                     f"{mean['latency_p99_ms'] / 1e3:.0f}", f"{mean['preemptions'] / NUM_REQUESTS:.3f}"])
    table("Admission x preemption x chunk size", [*FACTORS, "tok/s", "ITL p99 ms", "TTFT p99 s", "end p99 s",
                                                  "preemptions/request"], rows)
    share_table("Share of the variance, %", runs)
    share_table("The same between `predicted` and `prompt_only`",
                {cell: one for cell, one in runs.items() if cell[0] in ("predicted", "prompt_only")})
