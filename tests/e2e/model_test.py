"""generate and score with the real model, against the reference."""

import pathlib
import tempfile
import unittest

from program import MODEL, golden, run, run_json


class Generate(unittest.TestCase):
    def greedy(self, prompt, *flags):
        return run_json("generate", MODEL, "--prompt", prompt, "--temperature", "0",
                        "--max-tokens", "48", "--json", *flags)

    def test_the_object_that_json_prints(self):
        entry = golden()["raw"][0]
        answer = self.greedy(entry["text"], "--logprobs", "2", "--seed", "7")
        self.assertEqual(list(answer), ["prompt_ids", "ids", "text", "finish_reason", "seed", "usage",
                                        "timings", "logprobs"])
        self.assertEqual(answer["prompt_ids"], entry["ids"])
        self.assertEqual(answer["seed"], 7)
        self.assertEqual(answer["usage"]["prompt_tokens"], len(entry["ids"]))
        self.assertEqual(answer["usage"]["completion_tokens"], len(answer["ids"]))
        self.assertEqual(answer["usage"]["total_tokens"], len(entry["ids"]) + len(answer["ids"]))
        self.assertGreater(answer["timings"]["ticks"], 0)
        self.assertEqual([entry["token"] for entry in answer["logprobs"]], answer["ids"])
        for token in answer["logprobs"]:
            self.assertEqual(len(token["top_logprobs"]), 2)
            self.assertEqual(token["top_logprobs"][0], {key: token[key] for key in ("token", "logprob")})

    def test_chat_uses_the_template_and_equals_its_text(self):
        chat = golden()["chat"][0]
        question = chat["text"].split("<|im_start|>user\n")[1].split("<|im_end|>")[0]
        by_template = self.greedy(question, "--chat")
        self.assertEqual(by_template["prompt_ids"], chat["ids"])
        self.assertEqual(self.greedy(chat["text"])["ids"], by_template["ids"])

    def test_text_is_streamed_and_is_that_of_json(self):
        entry = golden()["raw"][0]
        flags = ("--temperature", "0", "--max-tokens", "16")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "prompt"
            file.write_text(entry["text"], encoding="utf-8")
            plain = run("generate", MODEL, "--prompt-file", file, *flags)
        ids = " ".join(map(str, entry["ids"]))
        answer = run_json("generate", MODEL, "--ids", ids, "--json", *flags)
        self.assertEqual(plain.stdout.decode(), answer["text"] + "\n")
        self.assertEqual((plain.returncode, plain.stderr), (0, b""))
        self.assertEqual(answer["finish_reason"], "length")

    def test_a_seed_gives_the_same_answer_whatever_else_is_set(self):
        prompt = golden()["raw"][0]["text"]
        call = ("generate", MODEL, "--prompt", prompt, "--max-tokens", "24", "--seed", "1", "--json")
        one = run_json(*call, "--threads", "1")
        other = run_json(*call, "--page-size", "64", "--max-num-batched-tokens", "128",
                         "--max-num-seqs", "2", "--kv-cache-memory", "64MiB")
        self.assertEqual(one["ids"], other["ids"])
        self.assertNotEqual(one["ids"], run_json(*call[:-3], "--seed", "2", "--json")["ids"])


class Score(unittest.TestCase):
    def score(self, *flags):
        passage = golden()["passage"]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "passage"
            file.write_text(passage["text"], encoding="utf-8")
            scored = run_json("score", MODEL, "--file", file, "--json", *flags)
        self.assertEqual(scored["ids"], passage["ids"])
        self.assertEqual(len(scored["nll"]), len(passage["ids"]) - 1)
        self.assertAlmostEqual(scored["mean_nll"], sum(scored["nll"]) / len(scored["nll"]), places=9)
        return abs(scored["mean_nll"] - passage["mean_nll"])

    def test_mean_nll_is_the_references(self):
        self.assertLessEqual(self.score(), 0.02)
        self.assertLessEqual(self.score("--cpu-isa", "reference"), 0.002)

    def test_ids_give_what_their_text_gives(self):
        passage = golden()["passage"]
        ids = " ".join(map(str, passage["ids"]))
        scored = run_json("score", MODEL, "--ids", ids, "--json")
        self.assertLessEqual(abs(scored["mean_nll"] - passage["mean_nll"]), 0.02)
        self.assertIn(b"perplexity", run("score", MODEL, "--ids", ids).stdout)

    def test_a_text_longer_than_the_context_is_refused(self):
        done = run("score", MODEL, "--ids", "5 " * 300, "--max-model-len", "256")
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"256", done.stderr)


if __name__ == "__main__":
    unittest.main()
