"""G11: a server that is told to stop at any moment of its life ends well: exit code 0, no word."""

import concurrent.futures
import contextlib
import json
import pathlib
import random
import signal
import socket
import subprocess
import tempfile
import unittest

from program import GUARD_S, PROGRAM, Server, clean_environment
from websocket import WebSocket

LIVES = 60
LIVES_AT_ONCE = 12
UPGRADE = (b"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
           b"Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
           b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: tickertape.v1\r\n\r\n")


class Life:
    """A server, its clients, and what they do until the signal comes."""

    def __init__(self, number, server):
        self.random = random.Random(number)
        self.server = server
        self.open = []

    def close(self):
        for thing in self.open:
            thing.close()

    def keep(self, thing):
        self.open.append(thing)
        return thing

    def raw(self, data=b""):
        """A connection that has sent `data` and reads nothing."""
        connection = self.keep(socket.create_connection(("127.0.0.1", self.server.port), GUARD_S))
        connection.sendall(data)
        return connection

    def busy(self, **submit):
        client = self.keep(WebSocket(self.server.port))
        client.send(**{"type": "submit", "id": "a", "prompt": "p", "max_tokens": 500} | submit)
        return client

    # What a server may be doing when the signal comes.

    def idle(self):
        pass

    def accepting(self):
        for _ in range(self.random.randrange(1, 30)):
            self.raw()

    def part_of_a_header(self):
        self.raw(UPGRADE[:self.random.randrange(1, len(UPGRADE))])

    def part_of_a_body(self):
        self.raw(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")

    def part_of_a_frame(self):
        client = self.keep(WebSocket(self.server.port))
        client.socket.sendall(b"\x81\xfe\x03\xe8" + bytes(4) + b"{" * self.random.randrange(900))

    def prefill(self):
        self.busy(prompt="p" * 400)

    def waiting_in_the_queue(self):
        for _ in range(6):
            self.busy().until("accepted")

    def generating(self):
        client = self.busy()
        for _ in range(self.random.randrange(1, 20)):
            client.until("token")

    def reader_that_stalls(self):
        connection = self.raw(UPGRADE)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        for number in range(8):
            text = json.dumps({"type": "submit", "id": str(number), "prompt": "p"}).encode()
            connection.sendall(bytes([0x81, 0x80 | len(text)]) + bytes(4) + text)

    def parked(self):
        client = self.busy(window=2)
        client.until("token")

    def closing(self):
        client = self.busy()
        client.until("accepted")
        client.socket.sendall(b"\x88\x82" + bytes(4) + b"\x03\xe8")

    def cancelling(self):
        client = self.busy()
        client.until("accepted")
        client.send(type="cancel", id="a")

    def gone(self):
        self.busy().close()

    MOMENTS = (idle, accepting, part_of_a_header, part_of_a_body, part_of_a_frame, prefill,
               waiting_in_the_queue, generating, reader_that_stalls, parked, closing, cancelling, gone)


class Shutdown(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        script = pathlib.Path(folder.name) / "script.json"
        script.write_text(json.dumps({"tick_ms": 1, "prefill_ms_per_token": 0.05,
                                      "default": {"text": "word ", "repeat": True}}))
        self.serve = ("--backend", "scripted", "--script", script, "--drain-timeout", "0.1",
                      "--max-num-seqs", "2", "--num-kv-pages", "64")

    def live(self, number):
        """(what was going on, exit code, standard error) of one life."""
        with Server(*self.serve) as server, contextlib.closing(Life(number, server)) as life:
            # Several things at once, in an order of their own.
            doing = [Life.MOMENTS[number % len(Life.MOMENTS)],
                     *life.random.sample(Life.MOMENTS, number % 3)]
            life.random.shuffle(doing)
            for moment in doing:
                moment(life)
            if number % 4 == 3:
                server.process.send_signal(signal.SIGINT)
            server.terminate()
            return [moment.__name__ for moment in doing], *server.wait()

    def test_sigterm_at_any_moment(self):
        # Most of a life is the wait for clients that do not answer the close.
        with concurrent.futures.ThreadPoolExecutor(LIVES_AT_ONCE) as threads:
            for doing, code, words in threads.map(self.live, range(LIVES)):
                self.assertEqual((code, words), (0, ""), doing)

    def failed(self, *arguments):
        done = subprocess.run([PROGRAM, "serve", *map(str, arguments)], capture_output=True,
                              env=clean_environment(), timeout=GUARD_S, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count(b"\n")), (1, b"", 1),
                         done.stderr)

    def test_a_start_that_fails(self):
        self.failed("/dev/null")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            self.failed(*self.serve, "--port", taken.getsockname()[1])


if __name__ == "__main__":
    unittest.main()
