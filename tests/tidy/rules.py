"""The rules. Each takes a SourceFile and yields (line, message)."""

import re

import edges

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 70


def include_edges(source):
    allowed = edges.EDGES.get(source.folder)
    if not source.is_cpp or allowed is None:
        return
    for line, include in source.includes():
        library = edges.library_of(include)
        if library is None:
            yield line, f"{include}: no known library; see tests/tidy/edges.py"
        elif library.startswith("own:"):
            folder = library.removeprefix("own:")
            if folder != source.folder and folder not in allowed:
                yield line, f"{source.folder} must not include {folder}"
        elif library != "std" and not edges.third_party_allowed(source, library):
            yield line, f"{library} must not be included here"


def file_length(source):
    lines = source.text.count("\n")
    if source.is_cpp and lines > MAX_FILE_LINES:
        yield lines, f"{lines} lines; at most {MAX_FILE_LINES}"


_TYPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")


def _opens_scope(head):
    """Whether the block after `head` holds declarations: a namespace or a type."""
    return _TYPE.search(head) is not None and "(" not in re.sub(r"\balignas\([^)]*\)", "", head)


def function_length(source):
    """Counts blocks that stand directly in a namespace or a type and are neither nor a table."""
    if not source.is_cpp:
        return
    code = re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", lambda m: re.sub(r"[^\n]", " ", m.group()), source.code,
                  flags=re.MULTILINE)
    depth = 0  # Of blocks inside a function or a table.
    scopes = 0
    start = head_start = 0
    is_function = False
    for match in re.finditer(r"[{};]", code):
        offset = match.start()
        if match.group() == "{":
            head = code[head_start:offset]
            if depth:
                depth += 1
            elif _opens_scope(head):
                scopes += 1
            else:
                depth = 1
                is_function = not re.search(r"=\s*$", head)
                start = head_start + len(head) - len(head.lstrip())
        elif match.group() == "}":
            if depth:
                depth -= 1
                lines = code.count("\n", start, offset) + 1
                if depth == 0 and is_function and lines > MAX_FUNCTION_LINES:
                    yield source.line_of(start), f"function of {lines} lines; at most {MAX_FUNCTION_LINES}"
            else:
                scopes -= 1
        if not depth:
            head_start = offset + 1
    if depth or scopes:
        yield source.line_of(len(code) - 1), "braces do not match"


def pragma_once(source):
    if source.is_header and not re.search(r"^#pragma once$", source.text, re.MULTILINE):
        yield 1, "header without #pragma once"


def opening_comment(source):
    if source.is_cpp and not re.match(r"// \S.*\S\n", source.text):
        yield 1, "the first line must be a comment that says what the file holds"


def unfinished_words(source):
    for match in re.finditer(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b", source.text):
        yield source.line_of(match.start()), f"{match.group()}: finish it or leave it out"


def machine_paths(source):
    for match in re.finditer(r"""(?<![\w.}$*])/(?:work|home|root|Users)/[\w.]+""", source.text):
        yield source.line_of(match.start()), f"{match.group()}: a path of one machine"


# (pattern, where it is forbidden, what to say). An empty tuple means everywhere.
FORBIDDEN = [
    (r"\bstd::w?s?regex\b", (), "std::regex overflows the stack on long words"),
    (r"\basio::detached\b", (), "detached loses errors: give a completion handler"),
    (r"\|\|\s*\w*timer\w*\b", ("runtime", "actors", "net"), "receive-or-timer loses messages"),
    (r"\b(steady|system|high_resolution)_clock::now\b", ("actors",), "time comes from the Scheduler"),
    (r"\b(random_device|mt19937(_64)?|rand)\b\s*[({]", ("actors",), "randomness comes from the Scheduler"),
    (r"\bthis_thread::get_id\b", ("actors",), "actors do not know threads"),
    (r"\bco_(await|return|yield)\b", ("kernels", "include"), "no coroutines here"),
    (r"\batomic_thread_fence\b", (), "sanitizers do not see fences"),
    (r"\bthis_thread::sleep_\w+|\b(u|nano)?sleep\(", ("tests", "actors", "runtime", "net"), "wait for the event instead"),
    (r"\bstd::(format|expected)\b", (), "not in this standard library"),
    (r"\bstd::(cout|cerr|clog)\b|(?<!f)\bprintf\s*\(", ("runtime", "kernels", "actors", "net"),
     "the library prints nothing"),
]


def forbidden_words(source):
    if not source.is_cpp:
        return
    for pattern, folders, message in FORBIDDEN:
        if folders and not source.under(*folders):
            continue
        for match in re.finditer(pattern, source.code):
            yield source.line_of(match.start()), f"{match.group().strip()}: {message}"


def unsleeping_scripts(source):
    """Tests written as scripts wait for events too."""
    if source.folder == "tests" and source.path.suffix == ".py":
        for match in re.finditer(r"\btime\.sle" r"ep\(", source.text):
            yield source.line_of(match.start()), "wait for the event instead of sleeping"


ALL = [
    include_edges,
    file_length,
    function_length,
    pragma_once,
    opening_comment,
    unfinished_words,
    machine_paths,
    forbidden_words,
    unsleeping_scripts,
]
