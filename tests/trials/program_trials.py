"""Trials of the program: what went wrong for users of other servers, by id.

usage: program_trials.py ID    runs the trial class of that name
"""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

from program import MODEL, PROGRAM, Server, clean_environment, golden, run, run_json
from websocket import WebSocket, get

MIB = 1 << 20


class Trial(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def script(self, **members):
        file = self.folder / "script.json"
        file.write_text(json.dumps(members), encoding="utf-8")
        return ("--backend", "scripted", "--script", file)

    def gauge(self, server, name):
        for line in get(server.url + "/metrics")[1].splitlines():
            if line.startswith(name):
                return float(line.split()[-1])
        raise AssertionError(f"no {name}")

    def survives(self, server):
        """Alive, ready, and nothing left of what ran."""
        self.assertIsNone(server.process.poll())
        while self.gauge(server, "tickertape_num_requests_running") > 0:
            pass
        self.assertEqual(get(server.url + "/ready")[0], 200)
        self.assertEqual(self.gauge(server, 'tickertape_kv_pages{'
                                    f'model_name="{self.model_name(server)}",state="held"'), 0)

    @staticmethod
    def model_name(server):
        return json.loads(get(server.url + "/v1/models")[1])["data"][0]["id"]


class A03(Trial):
    """The last running request outgrows the pool: it ends alone, and the server goes on."""

    def test_one_and_two_that_outgrow_the_pool(self):
        script = self.script(default={"text": "abcdefg ", "repeat": True})
        with Server(*script, "--num-kv-pages", "24", "--max-num-seqs", "8") as server:
            with WebSocket(server.port) as client:
                submit = {"prompt": "p" * 100, "max_tokens": 2000}
                text, done = client.answer(id="a", **submit)
                self.assertEqual(done["finish_reason"], "length")
                self.assertEqual(done["usage"]["prompt_tokens"] + done["usage"]["completion_tokens"],
                                 24 * 16)
                self.assertEqual(len(text), done["usage"]["completion_tokens"])
                client.send(type="submit", id="b", **submit)
                client.send(type="submit", id="c", **submit)
                ends = {}
                while len(ends) < 2:
                    frame = client.until("done")[-1]
                    ends[frame["id"]] = (frame["finish_reason"], frame["usage"])
                # The full pages of the prompt were there already.
                usage = dict(done["usage"], prompt_tokens_details={"cached_tokens": 96})
                self.assertEqual(ends, {id: ("length", usage) for id in ("b", "c")})
            self.survives(server)

    def test_the_model_itself(self):
        ids = " ".join(["2"] * 100)
        answer = run_json("generate", MODEL, "--ids", ids, "--max-tokens", "2000", "--ignore-eos",
                          "--num-kv-pages", "10", "--json")
        self.assertEqual((answer["finish_reason"], len(answer["ids"])), ("length", 60))


class D01(Trial):
    """A model file with absurd counts and lengths is refused at once, with little memory."""

    def refused(self, path):
        process = subprocess.Popen([PROGRAM, "tokenize", path, "a"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=clean_environment())
        out, error = process.stdout.read(), process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        process.stderr.close()
        self.assertEqual((process.returncode, out, error.count("\n")), (1, b"", 1), f"{path}: {error}")
        self.assertIn(str(path), error)
        self.assertLess(usage.ru_maxrss * 1024, 50 * MIB, path)

    def test_headers(self):
        def header(tensors=0, values=0, version=3, magic=b"GGUF"):
            return magic + struct.pack("<IQQ", version, tensors, values)

        def value(kind, body):
            return header(values=1) + struct.pack("<Q", 1) + b"k" + struct.pack("<I", kind) + body

        nested = struct.pack("<IQ", 9, 1) * 1000
        files = {
            "tensors": header(tensors=1 << 63),
            "values": header(values=1 << 60),
            "key": header(values=1) + struct.pack("<Q", (1 << 63) - 1),
            "strings": value(9, struct.pack("<IQ", 8, 1 << 61)),
            "nested": value(9, nested),
            "kind": value(99, b""),
            "version1": header(version=1),
            "version4": header(version=4),
            "endian": struct.pack(">4sIQQ", b"FUGG", 3, 0, 0),
            "none": b"", "three": b"GGU", "short": header()[:23],
        }
        for dims in (0, 5, 9, (1 << 32) - 1):
            files[f"dims{dims}"] = (header(tensors=1) + struct.pack("<Q", 1) + b"t" +
                                    struct.pack("<I", dims))
        for name, content in files.items():
            with self.subTest(name):
                path = self.folder / f"{name}.gguf"
                path.write_bytes(content)
                self.refused(path)
        self.refused(self.folder)
        self.refused("/dev/zero")


class D03(Trial):
    """A download that was cut off is refused at the start; a later cut changes nothing."""

    def test_cuts_and_a_cut_under_a_running_server(self):
        copy = self.folder / "copy.gguf"
        shutil.copyfile(MODEL, copy)
        whole = copy.stat().st_size
        with Server(copy) as server, WebSocket(server.port) as client:
            submit = {"prompt_ids": golden()["raw"][0]["ids"], "temperature": 0, "max_tokens": 8}
            before = client.answer(id="a", **submit)[0]
            os.truncate(copy, whole // 2)
            self.assertEqual(client.answer(id="b", **submit)[0], before)
            self.survives(server)
        shutil.copyfile(MODEL, copy)
        for size in (whole - 1, whole * 99 // 100, whole // 2, whole // 10):
            os.truncate(copy, size)
            done = run("serve", copy, "--port", "0")
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (1, 1), done.stderr)
            for expected in (str(copy), str(size)):
                self.assertIn(expected, done.stderr.decode())


class D09(Trial):
    """Token ids are those of the reference, also through the program."""

    def test_every_text(self):
        for entry in golden()["tokenizer"]:
            done = run("tokenize", MODEL, "--file", "-", stdin=entry["text"].encode())
            self.assertEqual([int(word) for word in done.stdout.split()], entry["ids"])


class D10(Trial):
    """No space is lost or added on the way back."""

    def test_spaces(self):
        for count in (1, 2, 3, 64, 1000, 4096):
            text = b" " * count + b"X"
            ids = run("tokenize", MODEL, "--file", "-", stdin=text).stdout
            self.assertEqual(run("detokenize", MODEL, "--file", "-", stdin=ids).stdout, text)

    def test_the_first_piece_keeps_its_space(self):
        script = self.script(default={"text": "  two spaces"})
        done = run("generate", "--prompt", "x", *script)
        self.assertEqual(done.stdout, b"  two spaces\n")


class D14(Trial):
    """Nothing to run is refused in one line; blank text is something."""

    def test_empty(self):
        for call in (("--prompt", ""), ("--ids", ""), ("--prompt-file", os.devnull)):
            done = run("generate", MODEL, *call)
            self.assertEqual((done.returncode, done.stdout), (1, b""), call)
            self.assertIn(b"empty", done.stderr)

    def test_blank(self):
        for call in (("--prompt", " "), ("--prompt", "", "--chat")):
            done = run("generate", MODEL, *call, "--max-tokens", "2")
            self.assertEqual((done.returncode, done.stderr), (0, b""), call)


class F09(Trial):
    """An idle server sleeps. Time on a CPU is counted, whatever else the machine does."""

    WINDOW_S = 10

    def spent_ms(self, server):
        before = server.cpu_ns()
        with self.assertRaises(subprocess.TimeoutExpired):
            server.process.wait(self.WINDOW_S)
        return (server.cpu_ns() - before) / 1e6

    def test_idle(self):
        with Server(MODEL) as server:
            with WebSocket(server.port) as client:
                client.answer(id="a", prompt="Once upon a time", max_tokens=4)
            self.assertLess(self.spent_ms(server), 5)
            clients = [WebSocket(server.port) for _ in range(50)]
            self.assertLess(self.spent_ms(server), 100)
            clients[0].send(type="submit", id="a", prompt="Once upon a time", window=4, max_tokens=64,
                            ignore_eos=True)
            for _ in range(4):
                clients[0].until("token")
            self.assertLess(self.spent_ms(server), 500)
            clients[0].send(type="credit", id="a", tokens=64)
            self.assertEqual(clients[0].until("done")[-1]["finish_reason"], "length")
            for client in clients:
                client.close()


if __name__ == "__main__":
    unittest.main()
