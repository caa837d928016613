"""The program as tests call it: one call to its end, or a server while a test lasts."""

import json
import os
import pathlib
import signal
import subprocess

BIN = pathlib.Path(os.environ["TICKERTAPE_BIN"])
MODEL = os.environ["TICKERTAPE_MODEL"]
DATA = pathlib.Path(os.environ["TICKERTAPE_TEST_DATA"])
PROGRAM = str(BIN / "tickertape")

# Only against hanging; no test is about how long something takes.
GUARD_S = 300


def clean_environment(extra=None):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TICKERTAPE_")}
    return kept | (extra or {})


def run(*arguments, stdin=b"", env=None):
    """Runs the program; gives the completed process, with bytes."""
    return subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, capture_output=True,
                          env=clean_environment(env), timeout=GUARD_S, check=False)


def run_json(*arguments, **more):
    done = run(*arguments, **more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def golden(name="smollm2-135m-open.json"):
    return json.loads((DATA / name).read_text(encoding="utf-8"))


class Server:
    """`tickertape serve` on a free port, from `with` to its end."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([PROGRAM, "serve", *map(str, arguments), "--port", "0"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=clean_environment())
        line = self.process.stdout.readline().decode()
        if not line.startswith("listening on http://"):
            self.process.kill()
            raise AssertionError(f"no address: {line!r} {self.process.communicate()[1]!r}")
        self.url = line.removeprefix("listening on ").strip()
        self.port = int(self.url.rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(GUARD_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.communicate()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self):
        """(exit code, standard error)."""
        code = self.process.wait(GUARD_S)
        return code, self.process.stderr.read().decode()

    def cpu_ns(self):
        """Time on a CPU so far, of all its threads."""
        folder = pathlib.Path(f"/proc/{self.process.pid}/task")
        return sum(int((task / "schedstat").read_text().split()[0]) for task in folder.iterdir())
