"""chat, inspect, the sampling flags and the config file, as a user meets them."""

import json
import pathlib
import signal
import subprocess
import tempfile
import unittest

from program import MODEL, PROGRAM, Server, clean_environment, golden, run, run_json

PROMPT = "The capital of France is"
GREEDY = ("--temperature", 0)


class Script(unittest.TestCase):
    """With a scripted backend: `self.script(...)` gives its file."""

    def script(self, content):
        file = tempfile.NamedTemporaryFile("w", suffix=".json", delete=False)
        self.addCleanup(pathlib.Path(file.name).unlink)
        with file:
            json.dump(content, file)
        return file.name

    def config(self, content):
        file = tempfile.NamedTemporaryFile("w", suffix=".toml", delete=False)
        self.addCleanup(pathlib.Path(file.name).unlink)
        with file:
            file.write(content)
        return file.name


class Chat(Script):
    RULES = {"rules": [{"match": "weather", "text": "Rain."}, {"match": "Rain.", "text": "Again."}],
             "default": {"text": "Hello."}}

    def chat(self, lines, *arguments):
        return run("chat", *arguments, stdin="".join(line + "\n" for line in lines).encode())

    def test_a_conversation_grows(self):
        script = self.script(self.RULES)
        # The second line says nothing of the weather: the answer to the first one is in the prompt.
        lines = ("hi", "the weather?", "/new", "hi")
        done = self.chat(lines, "--backend", "scripted", "--script", script)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(done.stdout, b"Hello.\nRain.\nHello.\n")
        done = self.chat(("the weather?", "and now?"), "--backend", "scripted", "--script",
                         self.script({"rules": [{"match": "Rain.", "text": "Again."},
                                                {"match": "weather", "text": "Rain."}]}))
        self.assertEqual(done.stdout, b"Rain.\nAgain.\n")

    def test_json_and_system(self):
        script = self.script({"rules": [{"match": "pirate", "text": "Arr."}]})
        done = self.chat(("hi",), "--backend", "scripted", "--script", script, "--json",
                         "--system", "You are a pirate.")
        answer = json.loads(done.stdout)
        self.assertEqual((answer["text"], answer["finish_reason"]), ("Arr.", "stop"))

    def test_with_a_server(self):
        with Server("--backend", "scripted", "--script", self.script(self.RULES)) as server:
            url = f"ws://127.0.0.1:{server.port}"
            done = self.chat(("the weather?", "hi"), "--url", url)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(done.stdout.split(b"\n")[0], b"Rain.")
        done = self.chat(("hi",), "--url", url)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_wrong_words(self):
        for words in ((), (MODEL, "--url", "ws://127.0.0.1:1")):
            done = self.chat((), *words)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        done = self.chat(("hi",), "--url", "ftp://127.0.0.1")
        self.assertEqual(done.returncode, 1)

    def test_an_interrupt_stops_the_answer_only(self):
        script = self.script({"rules": [{"match": "talk", "text": "ab", "repeat": True}],
                              "default": {"text": "Hello."}, "tick_ms": 1})
        process = subprocess.Popen([PROGRAM, "chat", "--backend", "scripted", "--script", script],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env=clean_environment())
        process.stdin.write(b"talk\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.read(4), b"abab")
        process.send_signal(signal.SIGINT)
        line = process.stdout.readline()
        self.assertRegex(line, rb"^(ab)*a?\n$")
        process.stdin.write(b"/new\nhi\n")
        process.stdin.close()
        self.assertEqual(process.stdout.read(), b"Hello.\n")
        self.assertEqual(process.wait(), 0)
        process.stdout.close()


class Inspect(unittest.TestCase):
    def test_the_model(self):
        found = run_json("inspect", MODEL, "--json", "--tensors", "--num-kv-pages", 100)
        self.assertEqual((found["architecture"], found["num_layers"], found["vocab_size"]),
                         ("llama", 30, 49152))
        pool = found["kv_pool"]
        # 30 layers, K and V of 3 heads of 64 values of 2 bytes, 16 tokens.
        self.assertEqual(pool["bytes_per_page"], 30 * 2 * 3 * 64 * 2 * 16)
        self.assertEqual((pool["pages"], pool["tokens"]), (100, 1600))
        self.assertEqual(found["memory"]["kv_pool"], 100 * pool["bytes_per_page"])
        self.assertEqual(sum(t["bytes"] for t in found["tensors"]), found["weight_bytes_in_file"])
        self.assertEqual(sum(t["tensors"] for t in found["types"].values()), len(found["tensors"]))
        embedding = next(t for t in found["tensors"] if t["name"] == "token_embd.weight")
        self.assertEqual(embedding["shape"], [49152, 576])

    def test_for_people(self):
        text = run("inspect", MODEL).stdout.decode()
        for expected in ("llama", "30 layers", "Q4_1", "KV pool", "MiB"):
            self.assertIn(expected, text)
        self.assertNotIn("blk.0.", text)
        self.assertIn("blk.0.", run("inspect", MODEL, "--tensors").stdout.decode())


class Sampling(unittest.TestCase):
    def generate(self, *arguments, prompt=PROMPT):
        return run_json("generate", MODEL, "--prompt", prompt, "--json", *arguments)

    def test_stops(self):
        whole = self.generate(*GREEDY, "--max-tokens", 24)
        stop = whole["text"][10:13]
        cut = self.generate(*GREEDY, "--max-tokens", 24, "--stop", "@@@", "--stop", stop)
        self.assertEqual(cut["text"], whole["text"][:whole["text"].index(stop)])
        self.assertEqual((cut["finish_reason"], cut["stop_reason"]), ("stop", stop))
        token = whole["ids"][5]
        cut = self.generate(*GREEDY, "--max-tokens", 24, "--stop-token-ids", f"7 {token}")
        self.assertEqual(cut["ids"], whole["ids"][:whole["ids"].index(token) + 1])
        self.assertEqual(cut["stop_reason"], token)

    def test_choices(self):
        found = self.generate("--n", 3, "--seed", 5, "--max-tokens", 8)
        self.assertEqual([choice["index"] for choice in found["choices"]], [0, 1, 2])
        self.assertEqual(found["ids"], found["choices"][0]["ids"])
        self.assertGreater(len({tuple(choice["ids"]) for choice in found["choices"]}), 1)
        self.assertEqual(found["usage"]["completion_tokens"],
                         sum(len(choice["ids"]) for choice in found["choices"]))
        again = self.generate("--n", 3, "--seed", 5, "--max-tokens", 8)
        self.assertEqual(again["choices"], found["choices"])

    def test_logits(self):
        only = self.generate("--max-tokens", 4, "--allowed-token-ids", "42", "--ignore-eos")
        self.assertEqual(only["ids"], [42] * 4)
        banned = self.generate(*GREEDY, "--max-tokens", 4)["ids"][0]
        other = self.generate(*GREEDY, "--max-tokens", 4, "--logit-bias", f"{banned}:-100,5:1.5")
        self.assertNotIn(banned, other["ids"])
        for flag in ("--repetition-penalty", "--frequency-penalty"):
            found = self.generate(*GREEDY, "--max-tokens", 30, flag, 1.9, "--ignore-eos")
            self.assertGreater(len(set(found["ids"])), 20, flag)

    def test_prompt_logprobs(self):
        found = self.generate(*GREEDY, "--max-tokens", 1, "--prompt-logprobs", 2, "--logprobs", 1)
        self.assertEqual(len(found["prompt_logprobs"]), len(found["prompt_ids"]) - 1)
        self.assertEqual([entry["token"] for entry in found["prompt_logprobs"]],
                         found["prompt_ids"][1:])
        self.assertEqual(len(found["prompt_logprobs"][0]["top_logprobs"]), 2)
        self.assertEqual(len(found["logprobs"][0]["top_logprobs"]), 1)

    def test_wrong_values(self):
        for flag, value in (("--logit-bias", "5"), ("--logit-bias", "5:x"), ("--logit-bias", ":1"),
                            ("--stop-token-ids", "a"), ("--n", "0"), ("--typical-p", "2"),
                            ("--repetition-penalty", "0"), ("--frequency-penalty", "3")):
            done = run("generate", MODEL, "--prompt", "a", flag, value)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
            self.assertIn(flag, done.stderr.decode())
        for flag, value in (("--logit-bias", "49152:1"), ("--logit-bias", "5:101"), ("--n", "65"),
                            ("--stop-token-ids", "49152"), ("--min-tokens", "300")):
            done = run("generate", MODEL, "--prompt", "a", flag, value)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
            self.assertIn(flag[2:].replace("-", "_"), done.stderr.decode())


class Config(Script):
    def ids(self, *words, env=None):
        found = run_json("generate", MODEL, "--prompt", PROMPT, "--json", *words, env=env)
        return len(found["ids"])

    def test_the_order_of_sources(self):
        file = self.config("temperature = 0\nignore_eos = true\nmax-tokens = 3\n"
                           "[serve]\nport = 1\n[generate]\nstop = [\"@@@\", \"###\"]\n")
        self.assertEqual(self.ids("--config", file), 3)
        self.assertEqual(self.ids(env={"TICKERTAPE_CONFIG": file}), 3)
        self.assertEqual(self.ids("--config", file, env={"TICKERTAPE_MAX_TOKENS": "4"}), 4)
        self.assertEqual(self.ids(f"--config={file}", "--max-tokens", 5,
                                  env={"TICKERTAPE_MAX_TOKENS": "4"}), 5)

    def test_what_is_wrong_is_named_with_its_line(self):
        for content, named in (("max-tokens = 3\nwarmth = 1\n", ":2: warmth"),
                               ("[generate]\nport = 1\n", ":2: port"),
                               ("[nonsense]\na = 1\n", ":1: nonsense"),
                               ("max-tokens = \n", ":1:"), ("max-tokens = {a = 1}\n", ":1:"),
                               ("max-tokens = -4\n", "--max-tokens")):
            done = run("generate", MODEL, "--prompt", "a", "--config", self.config(content))
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
            self.assertIn(named, done.stderr.decode())
        done = run("generate", MODEL, "--prompt", "a", "--config", "/nowhere.toml")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        done = run("generate", MODEL, "--prompt", "a", "--config")
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
