"""The examples run, whichever compiler built them."""

import http.client
import signal
import subprocess
import unittest

from program import BIN, GUARD_S, MODEL, golden


class Examples(unittest.TestCase):
    def printed(self, example):
        done = subprocess.run([BIN / example, MODEL], capture_output=True, timeout=GUARD_S, check=True)
        self.assertEqual(done.stderr, b"")
        return done.stdout.decode()

    def test_hello(self):
        lines = self.printed("hello").splitlines()
        self.assertRegex(lines[-1], r"^\d+ tokens$")
        self.assertGreater(len(lines), 1)

    def test_callback_and_future(self):
        text = self.printed("callback_and_future")
        self.assertRegex(text, r"(?s)^by callbacks: .*\w.*\nby futures: .*\w.*\n$")
        self.assertEqual(self.printed("callback_and_future"), text)

    def test_cancel_and_deadline(self):
        lines = self.printed("cancel_and_deadline").splitlines()
        self.assertRegex(lines[0], r"^16 tokens, none lost, \d+ waits ran out$")
        self.assertEqual(lines[1:], ["ended as cancelled", "ended as deadline"])

    def test_custom_logit_processor(self):
        lines = dict(line.split(":", 1) for line in
                     self.printed("custom_logit_processor").replace("\n\n", " ").splitlines()
                     if ":" in line)
        self.assertIn("e", lines["free"])
        self.assertNotIn("e", lines["without e"])
        self.assertGreater(len(lines["without e"]), 20)

    def test_embed_in_asio_server(self):
        process = subprocess.Popen([BIN / "embed_in_asio_server", MODEL, "0"], stdout=subprocess.PIPE)
        try:
            port = int(process.stdout.readline().decode().rsplit(":", 1)[1])
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=GUARD_S)

            def ask(method, target, body=None):
                client.request(method, target, body)
                response = client.getresponse()
                return response.status, response.read().decode()

            self.assertEqual(ask("GET", "/"), (200, "Hello from the old server.\n"))
            prompt = golden()["raw"][0]["text"]
            status, text = ask("POST", "/ask", prompt)
            self.assertEqual(status, 200)
            self.assertTrue(text)
            self.assertEqual(ask("POST", "/ask", prompt), (200, text))
            self.assertEqual(ask("POST", "/ask", "")[0], 400)
            self.assertEqual(ask("GET", "/none")[0], 404)
            client.close()
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(GUARD_S), 0)
        finally:
            process.kill()
            process.communicate()


if __name__ == "__main__":
    unittest.main()
