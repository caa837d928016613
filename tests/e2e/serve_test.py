"""serve: its address, its signals, and the examples that talk to it."""

import json
import pathlib
import subprocess
import tempfile
import unittest

from program import BIN, GUARD_S, MODEL, Server, golden
from websocket import WebSocket, get


class Scripted(unittest.TestCase):
    """Servers whose answers are given, so that a test knows where a generation stands."""

    def script(self, **members):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file = pathlib.Path(folder.name) / "script.json"
        file.write_text(json.dumps(members), encoding="utf-8")
        return ("--backend", "scripted", "--script", file)

    def endless(self, tick_ms):
        return self.script(tick_ms=tick_ms, default={"text": "word ", "repeat": True})

    def test_sigterm_lets_a_generation_end(self):
        text = "All of this is said before the end. " * 8
        with Server(*self.script(tick_ms=2, default={"text": text})) as server, \
                WebSocket(server.port) as client:
            client.send(type="submit", id="a", prompt="x", max_tokens=1000)
            first = client.until("token")
            server.terminate()
            rest = client.until("done")
            said = "".join(frame.get("text", "") for frame in first + rest)
            self.assertEqual((said, rest[-1]["finish_reason"]), (text, "stop"))
            self.assertEqual(server.wait(), (0, ""))

    def test_new_work_is_refused_while_draining(self):
        with Server(*self.endless(5), "--drain-timeout", "600") as server, \
                WebSocket(server.port) as client:
            client.send(type="submit", id="a", prompt="x", max_tokens=2000)
            client.until("token")
            server.terminate()
            status = 200
            while status == 200:  # Until the signal has arrived.
                status = get(server.url + "/ready")[0]
            self.assertEqual(status, 503)
            client.send(type="submit", id="b", prompt="x")
            self.assertEqual(client.until("error")[-1]["status"], 503)
            client.send(type="cancel", id="a")
            self.assertEqual(client.until("done")[-1]["finish_reason"], "cancelled")
            self.assertEqual(server.wait(), (0, ""))

    def test_the_drain_limit_ends_the_rest(self):
        with Server(*self.endless(5), "--drain-timeout", "0.2") as server, \
                WebSocket(server.port) as client:
            client.send(type="submit", id="a", prompt="x", max_tokens=2000)
            client.until("token")
            server.terminate()
            self.assertEqual(client.until("done")[-1]["finish_reason"], "shutdown")
            self.assertEqual(server.wait(), (0, ""))

    def test_a_second_signal_stops_at_once(self):
        with Server(*self.endless(5), "--drain-timeout", "600") as server, \
                WebSocket(server.port) as client:
            client.send(type="submit", id="a", prompt="x", max_tokens=2000)
            client.until("token")
            server.terminate()
            while get(server.url + "/ready")[0] == 200:
                pass
            server.terminate()
            self.assertEqual(server.wait(), (0, ""))

    def test_a_busy_port_is_one_line(self):
        with Server(*self.endless(5)) as server:
            with self.assertRaisesRegex(AssertionError, "tickertape: "):
                Server(*self.endless(5), "--port", str(server.port), "--host", "127.0.0.1")

    def test_served_name_and_ipv6(self):
        with Server(*self.endless(5), "--host", "::1", "--served-model-name", "teller") as server:
            self.assertTrue(server.url.startswith("http://[::1]:"), server.url)
            self.assertEqual(json.loads(get(server.url + "/v1/models")[1])["data"][0]["id"], "teller")

    def test_websocket_client_example(self):
        script = self.script(rules=[{"match": "first", "text": "One."}, {"match": "second", "text": "Two."}])
        with Server(*script) as server:
            def client(*prompts):
                return subprocess.run([BIN / "websocket_client", server.url, *prompts], timeout=GUARD_S,
                                      capture_output=True, text=True, check=True).stdout
            self.assertEqual(client("the first"), "One.\n")
            both = client("the first", "the second")
            self.assertIn("[0] ", both)
            self.assertIn("[1] ", both)


class Real(unittest.TestCase):
    def test_an_answer_over_websocket_is_the_references(self):
        chat = golden()["chat"][0]
        question = chat["text"].split("<|im_start|>user\n")[1].split("<|im_end|>")[0]
        with Server(MODEL) as server, WebSocket(server.port) as client:
            messages = [{"role": "user", "content": question}]
            text, done = client.answer(id="a", messages=messages, temperature=0, max_tokens=8)
            again, _ = client.answer(id="b", prompt_ids=chat["ids"], temperature=0, max_tokens=8)
            self.assertEqual((text, done["finish_reason"]), (again, "length"))
            server.terminate()
            self.assertEqual(server.wait(), (0, ""))


if __name__ == "__main__":
    unittest.main()
