"""Rules that hold documents and code against each other. Each takes the root and yields messages."""

import re

MAX_README_LINES = 150


def _read(root, path):
    file = root / path
    return file.read_text(encoding="utf-8") if file.is_file() else None


def package_names(text):
    return [line.split()[0] for line in text.splitlines() if line.strip() and line[0] != "#"]


def packages_explained(root):
    """Every package that tools/setup installs has its place in docs/dependencies.md."""
    packages, page = _read(root, "tools/packages.txt"), _read(root, "docs/dependencies.md")
    for name in package_names(packages or ""):
        if f"`{name}`" not in (page or ""):
            yield f"docs/dependencies.md: `{name}` is missing"


def cut(text, name):
    """The lines between `// [name]` and `// [/name]`."""
    match = re.search(rf"^// \[{name}\]\n(.*?)^// \[/{name}\]$", text, re.DOTALL | re.MULTILINE)
    return match.group(1) if match else None


def readme_shows_hello(root):
    """README's example is the compiled one, to the letter."""
    readme, hello = _read(root, "README.md"), _read(root, "examples/hello.cpp")
    part = cut(hello or "", "hello")
    if part is None:
        yield "examples/hello.cpp: no part marked [hello]"
    elif f"```cpp\n{part}```" not in (readme or ""):
        yield "README.md: its example is not the part [hello] of examples/hello.cpp"
    if (readme or "").count("\n") > MAX_README_LINES:
        yield f"README.md: more than {MAX_README_LINES} lines"


def contracts_name_real_tests(root):
    """In docs/contracts.md, `path: name` is a test case and `path` a file; both must exist."""
    page = _read(root, "docs/contracts.md")
    for quoted in re.findall(r"`([\w/.-]+\.(?:cpp|hpp|py)(?:: [\w/]+)?)`", page or ""):
        path, _, name = quoted.partition(": ")
        text = _read(root, path)
        if text is None:
            yield f"docs/contracts.md: {path} does not exist"
        elif name and not re.search(rf"\b{re.escape(name.split('/')[-1])}\b", text):
            yield f"docs/contracts.md: {path} has no {name}"
    if not page:
        yield "docs/contracts.md: missing"


def local_links(root):
    """Links between the project's own pages lead somewhere."""
    for page in [root / "README.md", root / "CHANGELOG.md", *sorted((root / "docs").rglob("*.md"))]:
        if not page.is_file():
            continue
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                yield f"{page.relative_to(root)}: link to {target} leads nowhere"


ALL = [packages_explained, readme_shows_hello, contracts_name_real_tests, local_links]
