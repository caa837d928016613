"""Who may include whom: the folders' edges and the third-party rule, as tables."""

import re

# What stands in an include -> the third-party library it belongs to.
THIRD_PARTY = [
    ("boost/asio/awaitable", "coroutine"),
    ("boost/asio/error.hpp", "system"),  # Error codes only.
    ("boost/asio/any_io_executor.hpp", "executor"),  # The name of an executor, nothing that runs.
    ("boost/asio", "asio"),
    ("boost/beast", "beast"),
    ("boost/system", "system"),
    ("boost/test", "boost_test"),
    ("simdjson", "simdjson"),
    ("pcre2", "pcre2"),
    ("nlohmann/", "nlohmann"),
    ("fmt/", "fmt"),
    ("CLI/", "cli11"),
    ("toml++/", "toml"),
    ("editline/", "libedit"),
    ("rapidcheck", "rapidcheck"),
    ("benchmark/", "benchmark"),
]
_STANDARD = re.compile(r"^[a-z_0-9]+$")
_SYSTEM = re.compile(
    r"^(sys|linux|netinet|arpa|net)/[a-z_]+\.h$"
    r"|^(unistd|fcntl|pthread|sched|signal|spawn|poll|netdb|stdlib|errno|malloc|link|dlfcn)\.h$"
    r"|^dirent\.h$"
)
_INTRINSICS = {"immintrin.h", "x86intrin.h", "cpuid.h", "arm_neon.h"}

OWN_FOLDERS = ("include", "runtime", "kernels", "actors", "net", "tools", "examples", "tests", "bench")

# folder -> own folders that it may include besides itself.
EDGES = {
    "include": set(),
    "runtime": {"include"},
    "kernels": {"include"},
    "actors": {"include", "runtime"},
    "net": {"include", "runtime"},
    "tools": {"include"},
    "examples": {"include"},
}

# Public headers that may show Asio's vocabulary: executors and completion tokens.
_ASIO_HEADERS = {
    f"include/tickertape/{name}.hpp" for name in ("engine", "token_stream", "server", "client", "options")
}


def library_of(include):
    """"std", "system", "simd", a third-party library, an own folder as "own:folder", or None."""
    if include.startswith("tickertape/"):
        return "own:include"
    first = include.split("/")[0]
    if "/" in include and first in OWN_FOLDERS and include.endswith((".hpp", ".h")):
        return f"own:{first}"
    for prefix, library in THIRD_PARTY:
        if include.startswith(prefix):
            return library
    if _STANDARD.match(include):
        return "coroutine" if include == "coroutine" else "std"
    if include in _INTRINSICS:
        return "simd"
    return "system_header" if _SYSTEM.match(include) else None


def third_party_allowed(source, library):
    """Whether this file may include that library (anything but std and own folders)."""
    path, folder = str(source.path), source.folder
    if folder in ("tests", "bench"):
        return True
    if folder == "include":
        asio = path in _ASIO_HEADERS or source.under("include/tickertape/detail")
        return library == "system" or (library in ("asio", "executor") and asio)
    if folder == "runtime":
        bridge = source.path.name.startswith("asio_") or path == "runtime/lane_thread.cpp"
        return library in ("system", "coroutine", "system_header", "simd") or (
            library in ("asio", "executor") and bridge
        )
    if folder == "kernels":
        return (
            library == "system_header"
            or (library == "simd" and source.under("kernels/cpu", "kernels/sampling"))
            or (library == "simdjson" and source.under("kernels/formats", "kernels/fake", "kernels/text"))
            or (library == "pcre2" and source.under("kernels/text"))
        )
    if folder == "actors":
        return library in ("coroutine", "system", "executor")
    if folder == "net":
        if library == "beast":
            return source.path.suffix == ".cpp"
        return library in ("asio", "executor", "coroutine", "system", "simdjson", "fmt", "nlohmann", "system_header")
    if folder == "tools":
        return library in ("asio", "executor", "coroutine", "system", "fmt", "nlohmann", "cli11", "toml", "libedit", "system_header")
    if folder == "examples":
        return library in ("asio", "executor", "coroutine", "beast", "system", "nlohmann")
    return False
