"""Swap: moving the keys and values of who makes room to the host, or computing them again."""
from scheduling.program import A100, MEMORY_LIMITED, SHAREGPT, capacity, table

LENGTHS = (128, 256, 512, 1024, 2048, 4000)
LINKS_GB_S = (4, 16, 32, 64)
FREE_LINK_GB_S = 1_000_000  # A move that costs nothing: what is above it is the price.
METHODS = ("recompute", "swap", "auto")
ROUNDS = 12
LEARNING = 4  # Rounds before the first that counts: passes and moves are measured there.
READ_MS, READ_MS_PER_TOKEN = 30, 0.065  # After so long a prompt is read, and little more done.
SWAP_SPACE = ("--swap-space", "16GiB")


def rounds(length):
    """In each round one of `length` tokens makes room for an urgent one of the same length, and goes on."""
    requests = []
    # Prompts of many lengths first: from them the model of a pass is fitted.
    for number in range(60):
        requests.append({"prompt_tokens": 1 + 37 * number % length, "max_tokens": 4,
                         "arrival_ms": 500 * number, "user": "first"})
    for number in range(ROUNDS):
        at_ms = 40_000 + 5_000 * number
        requests.append({"prompt_tokens": length, "max_tokens": 64, "arrival_ms": at_ms, "priority": 1,
                         "user": "victim" if number >= LEARNING else "first"})
        requests.append({"prompt_tokens": length, "max_tokens": 16, "user": "urgent",
                         "arrival_ms": at_ms + READ_MS + READ_MS_PER_TOKEN * length})
    return requests


def price_ms(program, length, method, link_gb_s):
    """What a preemption of so many tokens adds to the time until both are done; and how often it was which."""
    def run(method, link_gb_s):
        logged = program.simulate_logged(
            *A100, *program.workload(rounds(length)), "--num-kv-pages", (length + 64) // 16 + 2, "--scheduling",
            "priority", "--preemption", method, "--device-link", link_gb_s, "--no-prefix-caching", *SWAP_SPACE)
        victims = [one for one in logged.requests if one["client"] == "victim"]
        assert all(one["preemptions"] == 1 for one in victims), "a victim was not preempted once"
        return sum(one["latency_ms"] for one in victims) / len(victims)
    return run(method, link_gb_s) - run("swap", FREE_LINK_GB_S)


def crossover(program):
    rows, panels = [], []
    for link in LINKS_GB_S:
        prices = {method: [price_ms(program, length, method, link) for length in LENGTHS] for method in METHODS}
        for place, length in enumerate(LENGTHS):
            recompute, swap, auto = (prices[method][place] for method in METHODS)
            rows.append([link, length, f"{recompute:.1f}", f"{swap:.1f}", f"{auto:.1f}",
                         f"{auto / min(recompute, swap):.2f}"])
        panels.append({"title": f"link of {link} GB/s", "x": {"title": "tokens", "log": True},
                       "y": {"title": "price (ms)", "log": True},
                       "lines": [{"name": method, "points": list(zip(LENGTHS, prices[method]))}
                                 for method in METHODS]})
    table("Price of a preemption", ["link GB/s", "tokens", "recompute ms", "swap ms", "auto ms",
                                    "auto over cheaper"], rows)
    program.draw("swap_or_recompute", "Swap or recompute",
                 "What a preemption adds until victim and urgent request are done; Llama-2-7B shape on an A100",
                 panels[:2], panels[2:])


def under_load(program):
    """The methods where memory is short all the time: `prompt_only` at load 1.2."""
    num_requests = 3000
    rate = 1.2 * capacity(program, num_requests)
    rows = []
    for link in LINKS_GB_S:
        for method in METHODS:
            run = program.simulate(*MEMORY_LIMITED, *SHAREGPT, "--requests", num_requests, "--admission",
                                   "prompt_only", "--rate", f"{rate:.4f}", "--preemption", method,
                                   "--device-link", link, *SWAP_SPACE)
            rows.append([link, method, round(run["tok_s"]), f"{run['preemptions'] / num_requests:.2f}",
                         run["recomputed_tokens"], f"{run['swapped_bytes'] / 1e9:.0f}",
                         f"{100 * run['link_busy_ratio']:.1f}", f"{run['latency_p99_ms'] / 1e3:.0f}"])
    table("Preemption under load", ["link GB/s", "method", "tok/s", "preemptions/request", "recomputed tokens",
                                    "GB moved", "link busy %", "end p99 s"], rows)
