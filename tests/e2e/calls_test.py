"""Calls with wrong words or bad input: one line on standard error, and the right exit code."""

import os
import pathlib
import tempfile
import unittest

from program import MODEL, run

FAILED, WRONG = 1, 2
COMMANDS = ("serve", "generate", "score", "inspect", "render", "chat", "tokenize", "detokenize")


class Calls(unittest.TestCase):
    def refused(self, code, named, *arguments, **more):
        done = run(*arguments, **more)
        lines = done.stderr.decode().splitlines()
        self.assertEqual((done.returncode, done.stdout, len(lines)), (code, b"", 1),
                         f"{arguments}: {done.stderr}")
        self.assertIn(named, lines[0], arguments)

    def test_help_and_version(self):
        self.assertRegex(run("--version").stdout.decode(), r"^tickertape \d+\.\d+\.\d+\n$")
        self.assertEqual(run("--help").returncode, 0)
        for command in COMMANDS:
            done = run(command, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertIn("TICKERTAPE_JSON" if command != "serve" else "TICKERTAPE_PORT",
                          done.stdout.decode())
        text = run("serve", "--help").stdout.decode()
        for expected in ("1GiB", "4MiB", "=64", "seconds", "max of 512 and max-num-seqs + page-size"):
            self.assertIn(expected, text)

    def test_wrong_words(self):
        self.refused(WRONG, "command")
        self.refused(WRONG, "--prefix", "generate", MODEL, "--prompt", "a", "--prefix", "1")
        self.refused(WRONG, "nonsense", "nonsense")
        for command in COMMANDS[:3]:
            self.refused(WRONG, "MODEL", command, *(["--ids", "1"] if command != "serve" else []))
        for command in COMMANDS[3:]:
            self.refused(WRONG, "", command)
        self.refused(WRONG, "", "generate", MODEL)
        self.refused(WRONG, "--prompt", "generate", MODEL, "--prompt", "a", "--ids", "1")
        self.refused(WRONG, "--chat", "generate", MODEL, "--ids", "1", "--chat")
        self.refused(WRONG, "--script", "generate", MODEL, "--prompt", "a", "--backend", "scripted")

    def test_values_out_of_range_name_their_flag(self):
        for flag, value in (("--temperature", "-1"), ("--temperature", "2.5"), ("--temperature", "nan"),
                            ("--temperature", "warm"), ("--top-p", "1.01"), ("--min-p", "-0.1"),
                            ("--top-k", "-2"), ("--max-tokens", "0"), ("--max-tokens", "-5"),
                            ("--max-tokens", "1e99"), ("--logprobs", "21"), ("--seed", "1.5"),
                            ("--seed", "99999999999999999999"), ("--threads", "-1"),
                            ("--threads", "5000"), ("--compute-nice", "20"), ("--cpu-isa", "mmx"),
                            ("--page-size", "24"), ("--page-size", "0"), ("--max-num-seqs", "0"),
                            ("--num-kv-pages", "0"), ("--kv-cache-memory", "1 apple"),
                            ("--kv-cache-memory", "-1"), ("--kv-cache-memory", "99999999999GiB"),
                            ("--kv-cache-type", "q8_0"), ("--backend", "tpu"),
                            ("--max-num-batched-tokens", "1")):
            self.refused(WRONG, flag, "generate", MODEL, "--prompt", "a", flag, value)
        for flag, value in (("--port", "70000"), ("--port", "-1"), ("--max-body", "x"),
                            ("--drain-timeout", "-1"), ("--max-streams", "0"),
                            ("--max-queued-requests", "-1"), ("--max-queued-tokens", "-1"),
                            ("--prefill-chunk", "-1"), ("--prefill-chunk", "4294967296")):
            self.refused(WRONG, flag, "serve", MODEL, flag, value)
        self.refused(WRONG, "temperature", "generate", MODEL, "--prompt", "a",
                     env={"TICKERTAPE_TEMPERATURE": "-1"})

    def test_ids(self):
        for words in ("1 x 2", "1.5", "-3", "99999999999"):
            self.refused(WRONG, "--ids", "generate", MODEL, "--ids", words)
            self.refused(WRONG, "--ids", "score", MODEL, "--ids", words)
        for command in ("generate", "score"):
            self.refused(FAILED, "", command, MODEL, "--ids", "49152")
            self.refused(FAILED, "empty", command, MODEL, "--ids", "")
        self.refused(WRONG, "one", "detokenize", MODEL, "one")
        self.refused(FAILED, "49152", "detokenize", MODEL, "49152")

    def test_empty_prompts(self):
        self.refused(FAILED, "empty", "generate", MODEL, "--prompt", "")
        self.refused(FAILED, "empty", "score", MODEL, "--file", "-")
        self.refused(FAILED, "likelihood", "score", MODEL, "--ids", "5")

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            missing = os.path.join(folder, "missing")
            junk = pathlib.Path(folder) / "junk.gguf"
            junk.write_bytes(bytes(range(256)) * 64)
            empty = pathlib.Path(folder) / "empty.gguf"
            empty.write_bytes(b"")
            for model in (missing, folder, junk, empty, os.devnull, __file__):
                name = str(model)
                self.refused(FAILED, name, "serve", model)
                self.refused(FAILED, name, "generate", model, "--prompt", "a")
                self.refused(FAILED, name, "tokenize", model, "a")
            for file in (missing, folder):
                self.refused(FAILED, str(file), "generate", MODEL, "--prompt-file", file)
                self.refused(FAILED, str(file), "score", MODEL, "--file", file)
                self.refused(FAILED, str(file), "tokenize", MODEL, "--file", file)
                self.refused(FAILED, "script" if file == missing else "", "generate", "--prompt", "a",
                             "--backend", "scripted", "--script", file)
            self.refused(FAILED, str(junk), "detokenize", MODEL, "--file", junk)

    def test_settings_that_only_the_model_can_judge(self):
        self.refused(FAILED, "max_model_len", "generate", MODEL, "--prompt", "a",
                     "--max-model-len", "100000000")
        self.refused(FAILED, "", "generate", MODEL, "--prompt", "a b c d e f g h", "--num-kv-pages",
                     "1", "--page-size", "1")
        self.refused(FAILED, "", "serve", MODEL, "--host", "192.0.2.1", "--allow-anonymous")
        self.refused(FAILED, "--allow-anonymous", "serve", MODEL, "--host", "0.0.0.0", "--port", "0")

    def test_text_that_is_no_utf8_is_a_prompt(self):
        done = run("generate", MODEL, "--prompt-file", "-", "--max-tokens", "2", stdin=b"\xff\xfea\x00b")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
