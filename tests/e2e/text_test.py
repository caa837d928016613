"""tokenize and detokenize: equal to the reference, and there and back."""

import json
import pathlib
import tempfile
import unittest

from program import MODEL, golden, run, run_json


class Tokenize(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "text"

    def ids_of(self, data, *flags):
        self.file.write_bytes(data)
        done = run("tokenize", MODEL, "--file", self.file, *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count(b"\n"), 1)
        return [int(word) for word in done.stdout.split()]

    def test_every_text_of_the_reference_there_and_back(self):
        for entry in golden()["tokenizer"]:
            with self.subTest(text=entry["text"][:40]):
                data = entry["text"].encode()
                self.assertEqual(self.ids_of(data), entry["ids"])
                back = run("detokenize", MODEL, "--", " ".join(map(str, entry["ids"])))
                self.assertEqual((back.returncode, back.stdout), (0, data))

    def test_a_word_of_the_command_line_is_a_text_too(self):
        entry = golden()["tokenizer"][0]
        done = run("tokenize", MODEL, entry["text"])
        self.assertEqual([int(word) for word in done.stdout.split()], entry["ids"])
        self.assertEqual(run("tokenize", MODEL, "--", "--no-special").returncode, 0)

    def test_bytes_that_are_no_utf8_come_back(self):
        # This vocabulary has no token for some bytes that texts never hold, such as 04 and FF.
        self.ids_of(bytes(range(256)))
        for data in (b"\x00\x80abc", bytes(range(32, 192)), b"\xf0\x9f\x99", b"\xed\xa0\x80"):
            self.file.write_bytes(" ".join(map(str, self.ids_of(data))).encode())
            self.assertEqual(run("detokenize", MODEL, "--file", self.file).stdout, data)

    def test_nothing_is_no_ids(self):
        self.assertEqual(self.ids_of(b""), [])
        done = run("tokenize", MODEL, "")
        self.assertEqual((done.returncode, done.stdout), (0, b"\n"))

    def test_no_special_takes_control_tokens_as_text(self):
        text = b"<|im_start|>user"
        special, plain = self.ids_of(text), self.ids_of(text, "--no-special")
        self.assertLess(len(special), len(plain))
        self.assertEqual(run("detokenize", MODEL, *plain).stdout, text)
        self.assertEqual(run("detokenize", MODEL, *special).stdout, text)
        self.assertEqual(run("detokenize", MODEL, "--no-special", *special).stdout, b"user")

    def test_json(self):
        entry = golden()["tokenizer"][0]
        json_ids = run_json("tokenize", MODEL, entry["text"], "--json")
        self.assertEqual(json_ids, {"ids": entry["ids"], "count": len(entry["ids"])})
        self.assertEqual(run_json("detokenize", MODEL, *entry["ids"], "--json"),
                         {"text": entry["text"]})

    def test_environment_sets_a_flag_and_the_command_line_wins(self):
        done = run("tokenize", MODEL, "a", env={"TICKERTAPE_JSON": "1"})
        self.assertEqual(json.loads(done.stdout)["count"], 1)
        done = run("detokenize", MODEL, "1", "--json", env={"TICKERTAPE_JSON": "0"})
        self.assertIn("text", json.loads(done.stdout))


if __name__ == "__main__":
    unittest.main()
