"""simulate and bench throughput: their figures, their pictures, and what they refuse."""

import json
import os
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree

from program import MODEL, run, run_json

FAILED, WRONG = 1, 2
FIELDS = ("batching", "tok_s", "requests", "tokens", "seconds", "ticks", "slot_utilisation",
          "useful_tokens", "prompt_padding_tokens", "finished_row_tokens", "padding_ratio",
          "kv_waste_ratio", "latency_p50_ms", "latency_p99_ms", "held_p50_ms", "ttft_p50_ms",
          "ttft_p99_ms", "itl_p50_ms", "itl_p99_ms", "preemptions")


class Bench(unittest.TestCase):
    def refused(self, code, named, *arguments):
        done = run(*arguments)
        lines = done.stderr.decode().splitlines()
        self.assertEqual((done.returncode, done.stdout, len(lines)), (code, b"", 1),
                         f"{arguments}: {done.stderr}")
        self.assertIn(named, lines[0], arguments)

    def is_picture(self, path):
        root = xml.etree.ElementTree.parse(path).getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        return [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]

    def test_simulate_gives_the_same_figures_each_time(self):
        call = ("simulate", "--device", "a100", "--model-shape", "llama-7b", "--workload",
                "sharegpt-like", "--requests", "200", "--rate", "20", "--num-kv-pages", "1500",
                "--json", "-")
        first, second = run_json(*call), run_json(*call)
        for field in FIELDS:
            self.assertIn(field, first)
        for result in (first, second):
            del result["wall_seconds"]
        self.assertEqual(first, second)
        self.assertEqual(first["requests"], 200)
        self.assertEqual(first["finish_reasons"], {"stop": 200})
        self.assertGreater(first["tok_s"], 100)
        self.assertTrue(0 < first["kv_waste_ratio"] < 0.2)

    def test_the_true_length_is_not_what_is_declared(self):
        call = ("simulate", "--workload", "outputs:6,50,300", "--json", "-")
        for declared in ("2048", "0"):
            result = run_json(*call, "--max-tokens", declared)
            self.assertEqual((result["requests"], result["tokens"]), (3, 356))
        self.assertEqual(run_json(*call, "--max-tokens", "10")["tokens"], 26)

    def test_a_recording_is_planned_again(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "run.rec")
            made = run_json("simulate", "--workload", "mixed", "--requests", "60", "--max-num-seqs", "8",
                            "--record", file, "--json", "-")
            report = run_json("replay", file, "--check", "--json")
            self.assertEqual((report["end"], report["requests"], report["ticks"]),
                             ("closed", 60, made["ticks"]))
            self.assertNotIn("difference", report)
            other = run_json("replay", file, "--batching", "static", "--json")
            self.assertIn("tick", other["difference"])
            self.assertEqual(run("replay", file, "--check", "--batching", "static").returncode, FAILED)
            content = pathlib.Path(file).read_bytes()
            pathlib.Path(file).write_bytes(content[:-3])
            self.assertEqual(run_json("replay", file, "--json")["end"], "cut")
            done = run("replay", file, "--check")
            self.assertEqual(done.returncode, FAILED)
            self.assertIn(b"cut off at byte", done.stderr)
            self.refused(FAILED, "recording", "replay", __file__)
            self.refused(WRONG, "RECORDING", "replay")

    def test_lengths_are_learned_from_run_to_run(self):
        with tempfile.TemporaryDirectory() as folder:
            profile = os.path.join(folder, "lengths")
            call = ("simulate", "--workload", "sharegpt-like", "--requests", "300",
                    "--num-kv-pages", "1500", "--length-profile", profile, "--json", "-")
            first, second = run_json(*call), run_json(*call)
            self.assertIn("\nall 600 ", pathlib.Path(profile).read_text(encoding="utf-8"))
            self.assertLess(second["seconds"], first["seconds"])
            pathlib.Path(profile).write_text("no profile\n", encoding="utf-8")
            self.refused(FAILED, profile, *call)
            self.refused(FAILED, folder, "simulate", "--workload", "mixed", "--length-profile", folder)

    def test_a_table_without_json_and_pictures(self):
        with tempfile.TemporaryDirectory() as folder:
            plot = os.path.join(folder, "run.svg")
            done = run("simulate", "--workload", "mixed", "--requests", "40", "--max-num-seqs", "8",
                       "--plot", plot, "--json", os.path.join(folder, "run.json"))
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertIn(b"tok/s", done.stdout)
            texts = self.is_picture(plot)
            for expected in ("slot", "tick", "tokens in the pass", "compute-bound from here"):
                self.assertIn(expected, texts)
            written = json.loads(pathlib.Path(folder, "run.json").read_text(encoding="utf-8"))
            self.assertEqual(written["requests"], 40)

    def test_own_devices_shapes_and_requests(self):
        with tempfile.TemporaryDirectory() as folder:
            device = pathlib.Path(folder, "device.json")
            device.write_text(json.dumps({"bytes_per_s": 1e12, "flops_per_s": 1e14, "pass_ns": 0,
                                          "layer_ns": 0, "link_bytes_per_s": 1e10,
                                          "memory_bytes": 1e11}), encoding="utf-8")
            requests = pathlib.Path(folder, "requests.jsonl")
            requests.write_text('{"prompt": [5, 6], "max_tokens": 9}\n'
                                '{"prompt": "hello", "max_tokens": 4, "arrival_ms": 1000}\n',
                                encoding="utf-8")
            result = run_json("simulate", "--device", device, "--model-shape", "llama-7b",
                              "--workload", requests, "--json", "-")
            self.assertEqual((result["requests"], result["tokens"]), (2, 13))
            # Each token reads 13.2 GB of weights at 0.9 TB/s.
            self.assertAlmostEqual(result["itl_p50_ms"], 14.7, delta=0.3)
            missing = os.path.join(folder, "missing.jsonl")
            self.refused(FAILED, missing, "simulate", "--workload", missing)
            device.write_text("{}", encoding="utf-8")
            self.refused(FAILED, "bytes_per_s", "simulate", "--device", device, "--workload", "mixed")

    def test_logs_tell_what_became_of_whom(self):
        with tempfile.TemporaryDirectory() as folder:
            requests = pathlib.Path(folder, "requests.jsonl")
            requests.write_text(
                '{"prompt": [5, 6], "max_tokens": 9, "user": "ann"}\n'
                '{"prompt": [7, 8, 9], "max_tokens": 400, "user": "bob", "deadline_ms": 500}\n'
                '{"prompt": [5], "max_tokens": 4, "arrival_ms": 1000, "user": "ann"}\n',
                encoding="utf-8")
            log, ticks = pathlib.Path(folder, "log.jsonl"), pathlib.Path(folder, "ticks.jsonl")
            result = run_json("simulate", "--device", "a100", "--model-shape", "llama-7b", "--workload",
                              requests, "--request-log", log, "--tick-log", ticks, "--json", "-")
            lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
            self.assertEqual([line["client"] for line in lines], ["ann", "bob", "ann"])
            self.assertEqual([line["finish_reason"] for line in lines], ["stop", "deadline", "stop"])
            self.assertEqual(lines[2]["arrival_ms"], 1000)
            self.assertAlmostEqual(lines[1]["latency_ms"], 500, delta=20)
            self.assertTrue(0 < lines[0]["ttft_ms"] < lines[0]["latency_ms"])
            lines = [json.loads(line) for line in ticks.read_text(encoding="utf-8").splitlines()]
            self.assertEqual(len(lines), result["ticks"])
            self.assertEqual((lines[0]["prefill_tokens"], lines[0]["running"]), (5, 2))
            starts = [line["start_ms"] for line in lines]
            self.assertEqual(starts, sorted(starts))
            self.refused(FAILED, "/nowhere/log", "simulate", "--workload", requests, "--request-log",
                         "/nowhere/log")

    def test_swaps_are_told_in_bytes_and_time_of_the_link(self):
        call = ("simulate", "--device", "a100", "--model-shape", "llama-7b", "--workload", "uniform:160,160",
                "--requests", "8", "--num-kv-pages", "60", "--admission", "prompt_only", "--json", "-")
        swapped = run_json(*call, "--preemption", "swap", "--device-link", "16")
        self.assertGreater(swapped["swapped_pages"], 0)
        self.assertEqual(swapped["swapped_bytes"], swapped["swapped_pages"] * 16 * 512 * 1024)
        self.assertAlmostEqual(swapped["link_busy_ratio"],
                               swapped["swapped_bytes"] / 16e9 / swapped["seconds"], places=6)
        # 0.8 x 312 TFLOP/s over 0.9 x 2,039 GB/s, at a product and a sum for each 2 bytes.
        self.assertEqual(swapped["balance_tokens"], 136)
        computed = run_json(*call, "--preemption", "recompute")
        self.assertEqual((computed["swapped_bytes"], computed["link_busy_ratio"]), (0, 0))

    def test_throughput_of_the_real_model(self):
        with tempfile.TemporaryDirectory() as folder:
            plot = os.path.join(folder, "bench.svg")
            results = run_json("bench", "throughput", MODEL, "--workload", "outputs:3,5,8",
                               "--requests", "6", "--max-num-seqs", "2", "--json", "-",
                               "--plot", plot)
            self.assertEqual([tuple(result)[: len(FIELDS)] for result in results], [FIELDS])
            result = results[0]
            self.assertEqual((result["batching"], result["requests"], result["tokens"]),
                             ("chunked", 6, 32))
            self.assertTrue(0.5 < result["slot_utilisation"] <= 1)
            self.assertTrue(result["seconds"] > 0 and result["ttft_p50_ms"] > 0)
            self.assertIn("Throughput", self.is_picture(plot))

    def test_throughput_on_a_simulated_device(self):
        results = run_json("bench", "throughput", "--backend", "simulated", "--device", "b200",
                           "--model-shape", "llama-1b", "--workload", "uniform:64,8", "--requests",
                           "20", "--rate", "200", "--json", "-")
        self.assertEqual(results[0]["tokens"], 160)

    def test_a_simulated_answer_has_the_length_of_its_seed(self):
        seed = (0x51ED << 48) | (3 << 24) | 7  # simulated_seed(7, 3)
        answer = run_json("generate", "--backend", "simulated", "--device", "b200", "--model-shape",
                          "llama-1b", "--prompt", "hi", "--seed", seed, "--json")
        self.assertEqual((answer["finish_reason"], len(answer["ids"])), ("stop", 7))
        self.assertRegex(answer["text"], "^[a-z ]{6}$")

    def test_what_is_refused(self):
        self.refused(WRONG, "--workload", "simulate")
        self.refused(WRONG, "uniform:IN,OUT", "simulate", "--workload", "uniform:3")
        self.refused(WRONG, "h200", "simulate", "--workload", "mixed", "--device", "h300")
        self.refused(WRONG, "llama-8b", "simulate", "--workload", "mixed", "--model-shape", "x")
        self.refused(WRONG, "--rate", "simulate", "--workload", "mixed", "--rate", "-1")
        self.refused(WRONG, "--requests", "simulate", "--workload", "mixed", "--requests", "0")
        self.refused(FAILED, "--weight-bits", "simulate", "--workload", "mixed", "--model-shape",
                     "llama-70b")
        self.refused(FAILED, "cannot be written", "simulate", "--workload", "outputs:1", "--json",
                     "-", "--plot", "/nowhere/x.svg")
        self.refused(WRONG, "", "bench")
        self.refused(WRONG, "MODEL", "bench", "throughput", "--workload", "mixed")
        self.refused(WRONG, "MODEL", "bench", "throughput", MODEL, "--workload", "mixed",
                     "--backend", "simulated")

    def test_help_and_configuration(self):
        for words in (("simulate",), ("bench", "throughput")):
            done = run(*words, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertIn("TICKERTAPE_WORKLOAD", done.stdout.decode())
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "config.toml")
            file.write_text('[bench]\nworkload = "uniform:4,2"\n[simulate]\nworkload = "uniform:4,3"\n'
                            'requests = 5\n', encoding="utf-8")
            result = run_json("simulate", "--config", file, "--json", "-")
            self.assertEqual(result["tokens"], 15)
            results = run_json("bench", "throughput", MODEL, "--config", file, "--requests", "2",
                               "--json", "-")
            self.assertEqual(results[0]["tokens"], 4)


if __name__ == "__main__":
    unittest.main()
