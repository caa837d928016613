#!/usr/bin/env python3
"""Checks that the C++ sources are laid out as .clang-format says.

usage: format.py CLANG_FORMAT ROOT
"""

import pathlib
import subprocess
import sys

from tidy import tracked_files


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    tool, root = arguments[0], pathlib.Path(arguments[1])
    files = [name for name in tracked_files(root) if name.endswith((".hpp", ".cpp"))]
    return subprocess.run([tool, "--dry-run", "--Werror", *files], cwd=root, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
