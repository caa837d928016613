"""Shows that every rule finds its fault, and leaves good code alone."""

import pathlib
import tempfile

import documents
import rules
from source import SourceFile

_GOOD = """// Thing: what a good file looks like.
#pragma once
#include <vector>

#include <tickertape/batch.hpp>

namespace tickertape {
constexpr int kTable[] = {
%s};
class Thing {
 public:
  explicit Thing(int a) : a_{a} {}  // a comment with { braces
  const char* text() const { return "std::regex { asio::detached"; }

 private:
  int a_;
};
}  // namespace tickertape
""" % ("    1,\n" * 100)

_LONG = "// F: long.\nnamespace x {\nstruct Y {\nint f(int a) {\n" + "  ++a;\n" * 70 + "}\n};\n}\n"
_LONG_INIT = "// F: long.\nstruct Y {\nY() : a_{1}, b_(2) {\n" + "  ++a_;\n" * 70 + "}\nint a_, b_;\n};\n"

# (rule, path, text): each must be found.
BAD = [
    (rules.include_edges, "runtime/a.hpp", '#include "actors/engine.hpp"\n'),
    (rules.include_edges, "actors/a.cpp", '#include "kernels/cpu/gemm.hpp"\n'),
    (rules.include_edges, "kernels/cpu/a.cpp", '#include "actors/plan.hpp"\n'),
    (rules.include_edges, "net/a.cpp", '#include "actors/plan.hpp"\n'),
    (rules.include_edges, "include/tickertape/a.hpp", '#include "runtime/task.hpp"\n'),
    (rules.include_edges, "include/tickertape/a.hpp", "#include <boost/asio/post.hpp>\n"),
    (rules.include_edges, "include/tickertape/a.hpp", "#include <fmt/core.h>\n"),
    (rules.include_edges, "examples/a.cpp", '#include "net/server.hpp"\n'),
    (rules.include_edges, "tools/tickertape/a.cpp", '#include "actors/plan.hpp"\n'),
    (rules.include_edges, "net/a.hpp", "#include <boost/beast/http.hpp>\n"),
    (rules.include_edges, "actors/a.cpp", "#include <boost/asio/post.hpp>\n"),
    (rules.include_edges, "runtime/task.hpp", "#include <boost/asio/post.hpp>\n"),
    (rules.include_edges, "kernels/cpu/a.cpp", "#include <simdjson.h>\n"),
    (rules.include_edges, "kernels/formats/a.cpp", "#include <pcre2.h>\n"),
    (rules.include_edges, "kernels/formats/a.cpp", "#include <immintrin.h>\n"),
    (rules.include_edges, "kernels/cpu/a.cpp", "#include <coroutine>\n"),
    (rules.include_edges, "net/a.cpp", "#include <new_library/x.h>\n"),
    (rules.file_length, "net/a.cpp", "// A.\n" * 601),
    (rules.function_length, "net/a.cpp", _LONG),
    (rules.function_length, "net/a.cpp", _LONG_INIT),
    (rules.function_length, "tests/a.cpp", "BOOST_AUTO_TEST_CASE(a) {\n" + "  f();\n" * 70 + "}\n"),
    (rules.pragma_once, "net/a.hpp", "// A.\n"),
    (rules.opening_comment, "net/a.cpp", "#include <vector>\n"),
    (rules.unfinished_words, "net/a.cpp", "// TO" "DO later\n"),
    (rules.machine_paths, "docs/a.md", "see /ho" "me/somebody/notes\n"),
    (rules.forbidden_words, "kernels/text/a.cpp", "std::regex word;\n"),
    (rules.forbidden_words, "net/a.cpp", "co_spawn(io, f(), asio::detached);\n"),
    (rules.forbidden_words, "actors/a.cpp", "co_await (box.receive() || timer.async_wait());\n"),
    (rules.forbidden_words, "actors/a.cpp", "auto t = std::chrono::steady_clock::now();\n"),
    (rules.forbidden_words, "actors/a.cpp", "std::random_device{}();\n"),
    (rules.forbidden_words, "actors/a.cpp", "std::this_thread::get_id();\n"),
    (rules.forbidden_words, "kernels/cpu/a.cpp", "co_return;\n"),
    (rules.forbidden_words, "runtime/a.cpp", "std::atomic_thread_fence(order);\n"),
    (rules.forbidden_words, "tests/a.cpp", "std::this_thread::sleep_for(1ms);\n"),
    (rules.forbidden_words, "net/a.cpp", 'std::format("{}", 1);\n'),
    (rules.forbidden_words, "net/a.cpp", 'std::cout << "hello";\n'),
    (rules.unsleeping_scripts, "tests/e2e/a.py", "time.sle" "ep(1)\n"),
]

# (rule, path, text): none may be found.
GOOD = [
    (rules.include_edges, "actors/a.cpp", '#include <vector>\n#include "runtime/task.hpp"\n'),
    (rules.include_edges, "runtime/asio_poster.hpp", "#include <boost/asio/post.hpp>\n"),
    (rules.include_edges, "net/a.cpp", "#include <boost/beast/http.hpp>\n"),
    (rules.include_edges, "tests/a.cpp", '#include "kernels/cpu/gemm.hpp"\n#include <rapidcheck.h>\n'),
    (rules.forbidden_words, "net/a.cpp", 'std::snprintf(b, 1, "x"); // std::regex\n'),
    (rules.forbidden_words, "runtime/a.cpp", "auto t = std::chrono::steady_clock::now();\n"),
    (rules.machine_paths, "docs/a.md", "https://example.org/home/page and src/work/x\n"),
]

# (rule, {path: text}): the rules about documents.
BAD_DOCUMENTS = [
    (documents.packages_explained, {"tools/packages.txt": "cmake build x\n", "docs/dependencies.md": "-\n"}),
    (documents.readme_shows_hello,
     {"README.md": "```cpp\nint b;\n```\n", "examples/hello.cpp": "// [hello]\nint a;\n// [/hello]\n"}),
    (documents.readme_shows_hello,
     {"README.md": "```cpp\nint a;\n```\n" + "\n" * 150,
      "examples/hello.cpp": "// [hello]\nint a;\n// [/hello]\n"}),
    (documents.contracts_name_real_tests, {"docs/contracts.md": "`tests/a.cpp`\n"}),
    (documents.contracts_name_real_tests,
     {"docs/contracts.md": "`tests/a.cpp: name`\n", "tests/a.cpp": "BOOST_AUTO_TEST_CASE(names)\n"}),
    (documents.local_links, {"README.md": "[x](docs/none.md)\n"}),
]


def _document_findings(rule, files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        return list(rule(root))


def run():
    faults = []
    for rule, path, text in BAD:
        if not list(rule(SourceFile(path, text))):
            faults.append(f"{rule.__name__} does not find: {text.splitlines()[0]} in {path}")
    good = [(rule, "net/thing.hpp", _GOOD) for rule in rules.ALL] + GOOD
    for rule, path, text in good:
        faults += [f"{rule.__name__} wrongly finds in {path}: {found}"
                   for found in rule(SourceFile(path, text))]
    for rule, files in BAD_DOCUMENTS:
        if not _document_findings(rule, files):
            faults.append(f"{rule.__name__} does not find its fault in {list(files)}")
    tried = {rule for rule, *_ in BAD + BAD_DOCUMENTS}
    faults += [f"{rule.__name__} has no planted fault" for rule in rules.ALL + documents.ALL
               if rule not in tried]
    for fault in faults:
        print(fault)
    print(f"{len(BAD) + len(BAD_DOCUMENTS)} planted faults, {len(faults)} wrong answers")
    return 1 if faults else 0
