"""Program: runs of tickertape on a simulated device, with what they wrote and the pictures made of it."""
import dataclasses
import json
import math
import pathlib
import subprocess
import tempfile

A100 = ("--device", "a100", "--model-shape", "llama-7b")
# Room for about 24 sequences of the full length: memory is what is short.
MEMORY_LIMITED = (*A100, "--num-kv-pages", 3072, "--max-num-seqs", 256)
SHAREGPT = ("--workload", "sharegpt-like")
ROOMY = (*A100, "--max-num-seqs", 256)


@dataclasses.dataclass
class Logged:
    """A run in detail: its figures, and what became of each request and each pass."""
    figures: dict
    requests: list
    ticks: list


class Program:
    """Runs the program in a folder that goes when this does."""

    def __init__(self, path, pictures):
        self._path = pathlib.Path(path)
        self._pictures = pathlib.Path(pictures)
        self._temporary = tempfile.TemporaryDirectory()
        self._folder = pathlib.Path(self._temporary.name)

    def simulate(self, *arguments):
        """The figures of a run."""
        done = subprocess.run([self._path, "simulate", *map(str, arguments), "--json", "-"], check=True,
                              capture_output=True, text=True)
        return json.loads(done.stdout)

    def simulate_logged(self, *arguments):
        requests, ticks = self._folder / "requests.log", self._folder / "ticks.log"
        figures = self.simulate(*arguments, "--request-log", requests, "--tick-log", ticks)
        return Logged(figures, *([json.loads(line) for line in file.read_text("utf-8").splitlines()]
                                 for file in (requests, ticks)))

    def lengths(self, workload, num_requests, seed=1):
        """Prompt and answer of each request of a workload, in tokens: it is run with its true lengths."""
        run = self.simulate_logged(*A100, "--workload", workload, "--requests", num_requests,
                                   "--workload-seed", seed, "--max-tokens", 0)
        return [(one["prompt_tokens"], one["completion_tokens"]) for one in run.requests]

    def workload(self, requests, name="workload.jsonl"):
        """A file of requests: dicts with OpenAI's fields, prompt_tokens instead of prompt; by arrival."""
        file = self._folder / name
        with file.open("w", encoding="utf-8") as out:
            for number, one in enumerate(sorted(requests, key=lambda one: one.get("arrival_ms", 0))):
                body = {"prompt": prompt(number, one["prompt_tokens"]), **one}
                del body["prompt_tokens"]
                out.write(json.dumps(body) + "\n")
        return ("--workload", file)

    def draw(self, name, title, subtitle, *rows):
        """A picture beside the results. Each row is a list of panels, as bench/draw_figure.cpp takes them."""
        figure = {"title": title, "subtitle": subtitle,
                  "rows": [{"height": 300, "panels": panels} for panels in rows]}
        path = self._pictures / f"{name}.svg"
        subprocess.run([self._path.parent.parent / "bench" / "draw_figure", path], check=True,
                       input=json.dumps(figure), text=True)
        print(f"\n![{title}]({path.name})")


def prompt(number, num_tokens):
    """Ids of a prompt that shares no page with that of another number."""
    return [3 + number % 30000, *[3 + number // 30000] * (num_tokens - 1)]


def capacity(program, num_requests, *flags):
    """Requests per second of `prompt_only` with a full queue."""
    full = program.simulate(*(flags or (*MEMORY_LIMITED, *SHAREGPT)), "--requests", num_requests,
                            "--admission", "prompt_only")
    return num_requests / full["seconds"]


def percentile(values, share):
    """The value below which a share of them lies (nearest rank), as the program counts."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else math.nan


def table(title, columns, rows):
    print(f"\n### {title}\n")
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
