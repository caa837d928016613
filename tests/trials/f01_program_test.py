"""F01: memory stays flat over thousands of short requests of every kind.

usage: f01_program_test.py [--long]
"""

import json
import pathlib
import random
import sys
import tempfile
import unittest

from program import Server
from websocket import WebSocket, get

LONG = "--long" in sys.argv
REQUESTS = 30_000 if LONG else 3_000
# What a process may grow by over the second half: 0.3 KiB per request, and 1 MiB for what the
# allocator keeps.
ALLOWED_KIB = 0.3 * REQUESTS / 2 + 1024


def anonymous_kib(server):
    """Memory of its own, in RAM and swapped out."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
    values = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return sum(int(values[name].split()[0]) for name in ("RssAnon", "VmSwap"))


class Memory(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(1)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        script = pathlib.Path(folder.name) / "script.json"
        script.write_text(json.dumps({"default": {"text": "An answer to that."},
                                      "rules": [{"match": "bad numbers", "text": "wxyz", "nan_at": 3}]}))
        self.serve = ("--backend", "scripted", "--script", script, "--num-kv-pages", "64",
                      "--max-num-seqs", "4")

    def prompt(self, number):
        """Never twice the same."""
        return f"{number}: " + "".join(self.random.choices("abcdefgh ", k=self.random.randrange(1, 200)))

    def request(self, server, client, number):
        """One request of the kind that the number says; each kind is a fifth of all."""
        kind, name = number % 5, f"n{number}"
        submit = {"type": "submit", "id": name, "prompt": self.prompt(number), "max_tokens": 12}
        if kind == 0:
            client.send(**submit)
            client.send(type="cancel", id=name)
            self.assertIn(client.until("done")[-1]["finish_reason"], ("cancelled", "length"))
        elif kind == 1 and number % 2 == 0:
            client.send(**submit | {"temperature": -1})
            self.assertEqual(client.until("error")[-1]["param"], "temperature")
        elif kind == 1:
            client.send(**submit | {"prompt": "bad numbers " + submit["prompt"]})
            self.assertEqual(client.until("done")[-1]["finish_reason"], "error")
        elif kind == 2:
            with WebSocket(server.port) as visitor:
                visitor.send(**submit)
                if number % 2 == 0:
                    visitor.until("token")
        elif kind == 3:
            client.send(**submit | {"logprobs": True, "top_logprobs": 3})
            self.assertEqual(client.until("done")[-1]["finish_reason"], "length")
        else:
            client.send(**submit)
            client.until("done")
            self.assertEqual(get(server.url + "/metrics")[0], 200)

    def test_flat(self):
        with Server(*self.serve) as server, WebSocket(server.port) as client:
            samples = []
            for number in range(REQUESTS):
                if number % (REQUESTS // 10) == 0:
                    samples.append(anonymous_kib(server))
                self.request(server, client, number)
            samples.append(anonymous_kib(server))
            half = len(samples) // 2
            self.assertLess(samples[-1] - samples[half], ALLOWED_KIB, f"KiB at each tenth: {samples}")
            print(f"KiB at each tenth: {samples}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
