#!/usr/bin/env python3
"""Checks what the compiler does not: who includes whom, lengths, words that must not appear.

usage: tidy.py ROOT             checks the tracked files under ROOT
       tidy.py --self-test      shows that every rule finds a planted fault
"""

import pathlib
import subprocess
import sys

import documents
import rules
import self_test
from source import SourceFile

TEXT = {".hpp", ".cpp", ".py", ".md", ".cmake", ".txt", ".json", ".sh", ".html", ".js", ".css", ""}


def tracked_files(root):
    """Tracked and new files that git does not ignore; all files where there is no git."""
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=False,
    )
    if listing.returncode == 0 and listing.stdout:
        names = listing.stdout.splitlines()
    else:
        names = [str(p.relative_to(root)) for p in root.rglob("*")
                 if p.is_file() and "build" not in p.relative_to(root).parts]
    return sorted(name for name in names if (root / name).is_file()
                  and pathlib.PurePosixPath(name).suffix in TEXT
                  and not name.startswith("tests/data/"))


def check(root):
    findings = []
    for name in tracked_files(root):
        source = SourceFile(name, (root / name).read_text(encoding="utf-8"))
        for rule in rules.ALL:
            findings += [f"{name}:{line}: {message}" for line, message in rule(source)]
    for rule in documents.ALL:
        findings += rule(root)
    return findings


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test.run()
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    findings = check(pathlib.Path(arguments[0]))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
