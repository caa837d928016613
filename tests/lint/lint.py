#!/usr/bin/env python3
"""Finds coroutine shapes that g++ 12 compiles wrongly (coroutine_hazards.query).

usage: lint.py CLANG_QUERY BUILD_FOLDER ROOT    every tracked source that awaits
       lint.py --self-test CLANG_QUERY          shows that each matcher finds its shape, and no other
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
QUERY = HERE / "coroutine_hazards.query"
SHAPES = HERE / "hazard_shapes.cpp"
_BINDS = re.compile(r'^(\S+?):(\d+):\d+: note: "(\w+)" binds here$', re.MULTILINE)


def names_of_matchers():
    return set(re.findall(r'\.bind\("(\w+)"\)', QUERY.read_text(encoding="utf-8")))


def query(tool, file, arguments):
    """((path, line, shape) of each match, what went wrong or "") for one source."""
    run = subprocess.run([tool, "-f", str(QUERY), *arguments[0], str(file), *arguments[1]],
                         capture_output=True, text=True, check=False)
    output = run.stdout + run.stderr
    broken = run.returncode != 0 or re.search(r"\b(error|fatal error):", output)
    matches = {(path, int(line), shape) for path, line, shape in _BINDS.findall(output)}
    return matches, output[-2000:] if broken else ""


def self_test(tool):
    matches, broken = query(tool, SHAPES, ([], ["--", "-std=c++20", "-w"]))
    if broken:
        print(broken)
        return 1
    found = {shape: [] for shape in names_of_matchers()}
    lines = SHAPES.read_text(encoding="utf-8").splitlines()
    for _, line, shape in matches:
        function = next(text for text in reversed(lines[:line]) if "bad_" in text or "good_" in text)
        found[shape].append(re.search(r"\b(bad|good)_(\w+)\(", function).group(2))
    wrong = {shape: places for shape, places in found.items() if set(places) != {shape}}
    print(f"{len(found)} matchers; wrong: {wrong or 'none'}")
    return 1 if wrong else 0


def awaiting_sources(build, root):
    """The sources that this build compiles, that are ours and that hold a co_await."""
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    files = {pathlib.Path(entry["file"]) for entry in entries}
    return sorted(file for file in files
                  if file.is_relative_to(root) and not file.is_relative_to(build)
                  and re.search(r"\bco_await\b", file.read_text(encoding="utf-8")))


def lint(tool, build, root):
    sources = awaiting_sources(build, root)
    if not sources:
        print("no source awaits anything")
        return 1
    faults = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        runs = pool.map(lambda file: query(tool, file, (["-p", str(build)], [])), sources)
        for file, (matches, broken) in zip(sources, runs):
            if broken:
                faults.add(f"{file.relative_to(root)}: the lint cannot read it:\n{broken}")
            faults |= {f"{pathlib.Path(path).relative_to(root)}:{line}: {shape}"
                       for path, line, shape in matches if pathlib.Path(path).is_relative_to(root)}
    for fault in sorted(faults):
        print(fault)
    print(f"{len(sources)} sources, {len(faults)} faults")
    return 1 if faults else 0


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--self-test":
        return self_test(arguments[1])
    if len(arguments) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    return lint(arguments[0], pathlib.Path(arguments[1]).resolve(), pathlib.Path(arguments[2]).resolve())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
