#!/usr/bin/env python3
"""Runs the scheduler's policies on a simulated device; prints the tables of docs/results/scheduling.md and
draws its pictures.

usage: scheduling_tables.py [--pictures FOLDER] PROGRAM [TABLE...]

PROGRAM is build/release/bin/tickertape, with build/release/bench/draw_figure beside it. Pictures go to
docs/results. Time is virtual: the figures do not depend on the machine.
"""
import pathlib
import sys

from scheduling import admission, batching, chunks, drift, grid, memory, order, published, swap
from scheduling.program import Program

TABLES = {
    "admission": admission.over_load,
    "settings": admission.settings,
    "modes": batching.all_at_once,
    "offered_load": batching.over_load,
    "waste": memory.waste,
    "allocators": memory.allocators,
    "fairness": order.fairness,
    "priority": order.priority,
    "deadline": order.deadline,
    "chunks": chunks.long_and_short,
    "drift": drift.over_time,
    "published": published.gains,
    "anyscale": published.anyscale,
    "crossover": swap.crossover,
    "preemption": swap.under_load,
    "grid": grid.grid,
}


def main(arguments):
    pictures = pathlib.Path(__file__).resolve().parent.parent / "docs" / "results"
    if arguments[:1] == ["--pictures"] and len(arguments) > 1:
        pictures = pathlib.Path(arguments[1])
        arguments = arguments[2:]
    if not arguments or any(name not in TABLES for name in arguments[1:]):
        sys.exit(f"{__doc__}\ntables: {' '.join(TABLES)}")
    program = Program(arguments[0], pictures)
    for name in arguments[1:] or TABLES:
        TABLES[name](program)


if __name__ == "__main__":
    main(sys.argv[1:])
