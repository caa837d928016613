"""Order: who is served first, when one client floods, when somebody is urgent, when there are deadlines."""
import itertools
import random

from scheduling.program import A100, MEMORY_LIMITED, capacity, percentile, table

FLOOD = 100
PERIOD_MS = 1000  # Of the other client.
NUM_PERIODS = 120
SEEDS = range(1, 6)


def requests_of(client, lengths, arrivals_ms, **more):
    return [{"user": client, "prompt_tokens": prompt, "output_tokens": answer, "max_tokens": 2048,
             "arrival_ms": arrival_ms, **more}
            for (prompt, answer), arrival_ms in zip(lengths, arrivals_ms)]


def flood(lengths):
    return requests_of("flood", lengths, [0] * FLOOD, priority=1)


def steady(lengths):
    """One each second, the first when the flood is in."""
    return requests_of("steady", lengths, [PERIOD_MS // 2 + i * PERIOD_MS for i in range(len(lengths))])


def flood_ends_ms(run):
    return max(one["arrival_ms"] + one["latency_ms"] for one in run.requests if one["client"] == "flood")


def ttfts_before(run, client, end_ms):
    """Times to first token of the client's requests that came before `end_ms`."""
    return [one["ttft_ms"] for one in run.requests if one["client"] == client and one["arrival_ms"] < end_ms]


def fairness(program):
    """The steady client beside a flood, and alone on half an engine: p95 of those that come while it lasts."""
    lengths = [program.lengths("sharegpt-like", FLOOD + NUM_PERIODS, seed) for seed in SEEDS]
    rows = []
    for slots in (4, 6, 8, 12, 16, 32, 64):
        alone = [program.simulate_logged(*A100, "--max-num-seqs", slots // 2, "--max-num-batched-tokens",
                                         max(512, slots + 16) // 2, *program.workload(steady(one[FLOOD:])))
                 for one in lengths]
        used = sum(run.figures["slot_utilisation"] for run in alone) / len(alone)
        row = [slots, f"{100 * used:.0f}"]
        for order in ("fair", "fcfs"):
            both = [program.simulate_logged(
                *A100, "--max-num-seqs", slots, "--scheduling", order,
                *program.workload([*flood(one[:FLOOD]), *steady(one[FLOOD:])])) for one in lengths]
            ends = [flood_ends_ms(run) for run in both]
            beside, by_itself = (
                percentile([ms for run, end in zip(runs, ends) for ms in ttfts_before(run, "steady", end)], 0.95)
                for runs in (both, alone))
            row += [f"{by_itself / 1e3:.3f}", f"{beside / 1e3:.3f}", f"{beside / by_itself:.2f}"]
        rows.append(row)
    table("Fairness: p95 TTFT of a steady client beside a flood",
          ["slots", "used alone %", "alone on half s", "`fair` s", "ratio", "alone on half s", "`fcfs` s", "ratio"],
          rows)


def priority(program):
    """The steady client is urgent: its requests are of a higher class than the flood's."""
    lengths = [program.lengths("sharegpt-like", FLOOD + NUM_PERIODS, seed) for seed in SEEDS]
    rows = []
    for short, flags in (("slots: 16", ("--max-num-seqs", 16)),
                         ("pages: 1,024", ("--max-num-seqs", 256, "--num-kv-pages", 1024))):
        for order in ("priority", "fair", "fcfs"):
            runs = [program.simulate_logged(
                *A100, *flags, "--scheduling", order,
                *program.workload([*flood(one[:FLOOD]), *steady(one[FLOOD:])])) for one in lengths]
            ends = [flood_ends_ms(run) for run in runs]
            ttfts = [ms for run, end in zip(runs, ends) for ms in ttfts_before(run, "steady", end)]
            mean = {name: sum(run.figures[name] for run in runs) / len(runs)
                    for name in ("preemptions", "recomputed_tokens", "swapped_pages")}
            rows.append([short, order, *(f"{percentile(ttfts, share):.0f}" for share in (0.5, 0.95, 1)),
                         f"{sum(ends) / len(ends) / 1e3:.0f}", *(round(value) for value in mean.values())])
    table("Priority: an urgent client beside a flood",
          ["short", "order", "urgent TTFT p50 ms", "p95", "most", "flood ends s", "preemptions",
           "recomputed tokens", "swapped pages"], rows)


def deadline(program):
    """Requests that are worth nothing after their deadline, from an engine with room to an overloaded one."""
    num_requests = 16000
    dice = random.Random(1)
    lengths = program.lengths("alpaca-like", num_requests)
    deadlines_ms = [dice.uniform(2_000, 20_000) for _ in lengths]
    gaps = [dice.expovariate(1) for _ in lengths]
    full_rate = capacity(program, num_requests, *MEMORY_LIMITED, "--workload", "alpaca-like")
    print(f"capacity (prompt_only, full queue): {full_rate:.1f} requests/s")
    rows = []
    for load in (0.8, 1.0, 1.2, 1.5, 2.0, 3.0):
        arrivals_ms = [1000 * at / (full_rate * load) for at in itertools.accumulate(gaps)]
        requests = [{"prompt_tokens": prompt, "output_tokens": answer, "max_tokens": 1024,
                     "arrival_ms": arrival, "deadline_ms": deadline}
                    for (prompt, answer), arrival, deadline in zip(lengths, arrivals_ms, deadlines_ms)]
        row = [load]
        for order in ("fcfs", "deadline"):
            run = program.simulate_logged(*MEMORY_LIMITED, "--scheduling", order, *program.workload(requests))
            late = [one for one in run.requests if one["finish_reason"] == "deadline"]
            begun = [one for one in late if one["queue_ms"] is not None]
            wasted = sum(one["prompt_tokens"] + one["completion_tokens"] for one in begun)
            computed = run.figures["useful_tokens"] + run.figures["recomputed_tokens"]
            row += [f"{100 * (1 - len(late) / num_requests):.1f}", f"{100 * wasted / computed:.1f}",
                    len(late) - len(begun)]
        rows.append(row)
    table("Deadlines of 2 to 20 s", ["load", *["on time %", "work wasted %", "never begun"] * 2], rows)
