"""SourceFile: one tracked file as the rules see it."""

import re
from pathlib import PurePosixPath

CPP = {".hpp", ".cpp"}

# Comments, strings and characters, the longest form first. Raw strings end at their own delimiter.
_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<delimiter>[^(\s]*)\(.*?\)(?P=delimiter)"|"(?:\\.|[^"\\\n])*"
        |(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL | re.VERBOSE,
)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(<[^>\n]+>|"[^"\n]+")', re.MULTILINE)


def _blank(match):
    """Spaces instead of what matched; line ends stay, so that line numbers hold."""
    return re.sub(r"[^\n]", " ", match.group())


class SourceFile:
    def __init__(self, path, text):
        self.path = PurePosixPath(path)
        self.text = text
        self.is_cpp = self.path.suffix in CPP
        self.is_header = self.path.suffix == ".hpp"
        self.folder = self.path.parts[0]
        # Code without comments and strings, as long as the text.
        self.code = _TOKEN.sub(_blank, text) if self.is_cpp else text

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def includes(self):
        """(line, what stands between the brackets or quotes) of every include."""
        for match in _INCLUDE.finditer(self.text):
            yield self.line_of(match.start()), match.group(1)[1:-1]

    def under(self, *folders):
        return any(self.path.is_relative_to(folder) for folder in folders)
