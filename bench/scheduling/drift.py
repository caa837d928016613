"""Drift: traffic that turns from short answers to long ones and back, while prompts stay as they were."""
import itertools
import math
import random

from scheduling.program import MEMORY_LIMITED, percentile, table

RATE = 15.0  # Requests per second: beyond what the pool holds of the long ones.
NUM_SHORT, NUM_LONG = 2000, 3500
WINDOW_S = 10
MEAN_SHORT, MEAN_LONG, SPREAD = 58, 338, 0.8


def requests():
    """Log-normal prompts with a mean of 161 tokens; which answer is asked for cannot be seen from them."""
    dice = random.Random(1)
    def log_normal(mean, least, most):
        value = dice.lognormvariate(math.log(mean) - SPREAD * SPREAD / 2, SPREAD)
        return max(least, min(most, round(value)))
    means = [MEAN_SHORT] * NUM_SHORT + [MEAN_LONG] * NUM_LONG + [MEAN_SHORT] * NUM_SHORT
    arrivals = itertools.accumulate(dice.expovariate(RATE) for _ in means)
    return [{"prompt_tokens": log_normal(161, 4, 1024), "output_tokens": log_normal(mean, 4, 1024),
             "max_tokens": 1024, "arrival_ms": 1000 * at} for mean, at in zip(means, arrivals)]


def by_time(run):
    """Windows of time: of the requests that came in each, what was foreseen and what happened."""
    windows = {}
    for one in run.requests:
        windows.setdefault(int(one["arrival_ms"] / 1e3 / WINDOW_S), []).append(one)
    rows = []
    for number, group in sorted(windows.items()):
        lengths = [one["completion_tokens"] for one in group]
        beyond = [one for one in group if one["completion_tokens"] > one["forecast_p90"]]
        rows.append({"s": number * WINDOW_S, "requests": len(group),
                     "true p50": percentile(lengths, 0.5), "true p90": percentile(lengths, 0.9),
                     "foreseen p50": percentile([one["forecast_p50"] for one in group], 0.5),
                     "foreseen p90": percentile([one["forecast_p90"] for one in group], 0.5),
                     "beyond %": 100 * len(beyond) / len(group),
                     "preemptions": sum(one["preemptions"] for one in group),
                     "of those beyond": sum(one["preemptions"] for one in beyond),
                     "queue p50 s": percentile([one["queue_ms"] for one in group], 0.5) / 1e3})
    return rows


def over_time(program):
    load = requests()
    turns_s = [load[place]["arrival_ms"] / 1e3 for place in (NUM_SHORT, NUM_SHORT + NUM_LONG)]
    workload = program.workload(load)
    runs = {name: program.simulate_logged(*MEMORY_LIMITED, *workload, "--admission", name)
            for name in ("predicted", "prompt_only", "reserve")}
    print(f"turns at {turns_s[0]:.0f} and {turns_s[1]:.0f} s")
    rows = by_time(runs["predicted"])
    near = [row for row in rows if any(-WINDOW_S <= row["s"] - turn < 7 * WINDOW_S for turn in turns_s)]
    table("Forecast while traffic turns", ["from s", *list(near[0])[1:]],
          [[row["s"], *(f"{value:.1f}" if isinstance(value, float) else value
                        for value in list(row.values())[1:])] for row in near])
    totals = []
    for name, run in runs.items():
        ends = run.figures["finish_reasons"]
        beyond = [one for one in run.requests if one["completion_tokens"] > one["forecast_p90"]]
        totals.append([name, round(run.figures["tok_s"]), run.figures["preemptions"],
                       run.figures["recomputed_tokens"], f"{100 * len(beyond) / len(run.requests):.1f}",
                       f"{run.figures['queue_p99_ms'] / 1e3:.0f}", ends["stop"], sum(ends.values())])
    table("All of it", ["admission", "tok/s", "preemptions", "recomputed tokens", "beyond p90 %", "queue p99 s",
                        "ended by themselves", "of"], totals)
    axis = {"title": "arrival (s)"}
    marks = {"long": turns_s[0], "short": turns_s[1]}

    def line(values, field, name):
        return {"name": name, "marks": False,
                "points": [[row["s"] + WINDOW_S / 2, row[field]] for row in values]}

    program.draw("drift", "Traffic that turns from short to long and back",
                 f"{len(load)} requests at {RATE:.0f}/s, Llama-2-7B shape on an A100, 3,072 pages",
                 [{"title": "Answers: true and foreseen when admitted", "x": axis,
                   "y": {"title": "tokens", "log": True}, "marks": marks,
                   "lines": [line(rows, name, name)
                             for name in ("true p50", "foreseen p50", "true p90", "foreseen p90")]}],
                 [{"title": "Answers beyond the foreseen p90", "x": axis, "y": {"title": "%"},
                   "marks": marks, "lines": [line(rows, "beyond %", "")]}],
                 [{"title": "Preemptions in each 10 s", "x": axis, "y": {"title": "preemptions"},
                   "marks": marks, "lines": [line(by_time(run), "preemptions", name)
                                             for name, run in runs.items()]}])
