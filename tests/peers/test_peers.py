"""Checks `./dev bench peers`: its figures with programs that stand in for the real ones, and then one row of the real ones.

    test_peers.py CLI

Ends with 77 where PyTorch is missing; the other checks have run then.
"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

import peers
from peers import Bench, CannotMeasure, LlamaCpp, Row

HERE = os.path.dirname(os.path.abspath(__file__))
GPT2 = {"GPT-2-small-shaped decode": 40.0, "GPT-2-small-shaped prefill of 512": 600.0,
        "GPT-2-small-shaped weights read per token": 500.0,
        **{f"GPT-2-small-shaped decode, {storage}": 120.0 for storage in peers.STORAGES[1:]},
        **{f"GPT-2-small-shaped weights read per token, {storage}": 125.0 for storage in peers.STORAGES[1:]}}
GPT2_IN_PYTORCH = {"decode tokens/s": 20.0, "prefill tokens/s": 900.0, "one row": "linear"}
BANDWIDTH = {"reading memory, every core": 25.0}
DECODING = "decoding, GPT-2 small's shape, f32"


needs_pytorch = unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is missing")


class StandIn:
    """Both programs: answers from a list, and a record of who was asked."""

    def __init__(self, ours, peer, busy_seconds=0.0):
        self.ours_answers, self.peer_answers, self.busy_seconds = iter(ours), iter(peer), busy_seconds
        self.asked, self.used = [], 0.0

    def ours(self, *arguments):
        self.asked.append(("ours", *arguments))
        self.used += self.busy_seconds
        return next(self.ours_answers)

    def __call__(self, what, **arguments):
        self.asked.append(("peer", what, arguments) if arguments else ("peer", what))
        return next(self.peer_answers)

    def processor_seconds(self):
        return self.used

    def bench(self, llama=None):
        return Bench(self.ours, self, llama)


def llama_bench(folder, kind, rate):
    """A program that prints what llama-bench prints."""
    path = os.path.join(folder, "llama-bench")
    with open(path, "w") as file:
        file.write(f"#!/bin/sh\necho '[{{\"model_type\": \"{kind}\", \"n_gen\": 24, \"avg_ts\": {rate}}}]'\n")
    os.chmod(path, 0o700)
    return LlamaCpp(path, "gpt2.gguf")


class Figures(unittest.TestCase):
    def test_a_ratio_compares_medians_in_time(self):
        self.assertEqual(Row("step", "ms", [10, 30, 20], [40, 10, 50]).ratio(), 20 / 40)
        self.assertEqual(Row("decoding", "tokens/s", [10, 30, 20], [40, 10, 50]).ratio(), 40 / 20)

    def test_a_row_is_written_with_its_five_fields(self):
        self.assertEqual(Row("step", "ms", [20], [40]).as_json(),
                         {"name": "step", "ours": 20, "peer": 40, "ratio": 0.5, "unit": "ms"})
        self.assertEqual(Row("memory", "GB/s", [20]).as_json(),
                         {"name": "memory", "ours": 20, "peer": None, "ratio": None, "unit": "GB/s"})

    def test_a_table_shows_medians_and_the_spread_of_each_side_and_of_the_pairs(self):
        row = Row("step", "ms", [1000, 3000, 2500], [10, 30, 20])
        self.assertEqual(row.cells(), ["step, ms", "2,500 (1,000 to 3,000)", "20.0 (10.0 to 30.0)", "125.0 (100.0 to 125.0)"])
        self.assertEqual(Row("memory", "GB/s", [2.5]).cells(), ["memory, GB/s", "2.50", "", ""])
        self.assertEqual(peers.table([["", "a"], ["step", "1"]]), "|      | a |\n|------|---|\n| step | 1 |")

    def test_lengths_show_how_much_longer_each_takes_than_half_of_it(self):
        class Ours:
            def costs(self, spec, lengths):
                return {T: T * (T if "full" in spec else 1) for T in lengths}

            def operation(self, name):
                return 3 * int(name.rpartition("-")[2])

        rows = {}
        peers.measure_lengths(Ours(), 1, rows)
        self.assertEqual(rows["full attention, one head of 32, T = 512"].ours, [512 * 512])
        self.assertEqual(rows["linear scan, width 512, T = 512"].ours, [3 * 512])
        lines = peers.lengths_table(rows).splitlines()
        self.assertEqual(len(lines), 2 + 7)
        self.assertIn("16,384", lines[-1])
        self.assertIn(", x 4.00", lines[-1])
        self.assertIn(", x 2.00", lines[-1])


class Turns(unittest.TestCase):
    def test_the_programs_take_turns(self):
        programs = StandIn([{"matmul 512^3": 50.0}] * 3, [{"GFLOP/s": 100.0}] * 3)
        bench = programs.bench()
        peers.measure(bench, ["matmul"], 3)
        self.assertEqual(programs.asked, [("ours", "--only", "matmul"), ("peer", "matmul")] * 3)
        self.assertEqual(bench.rows["matmul 512^3"].ratio(), 2.0)

    def test_pytorch_trains_the_model_that_ours_has_trained(self):
        sizes = [2, 4, 64, 64, 32, 65, 0]
        programs = StandIn([{"B": {"ms": 30.0, "sizes": sizes, "steps": 7}}], [{"ms": 20.0}])
        bench = programs.bench()
        peers.measure(bench, ["train-B"], 1)
        self.assertEqual(programs.asked[1], ("peer", "train", {"sizes": sizes, "steps": 7}))
        (row,) = bench.rows.values()
        self.assertEqual((row.name, row.ratio()), ("training step B: decoder, 2 layers, 4 heads, width 64, 32 x 64 tokens", 1.5))

    def test_a_peer_that_works_while_ours_is_measured_ends_the_benchmark(self):
        programs = StandIn([{"matmul 512^3": 50.0}], [], busy_seconds=0.2)
        with self.assertRaisesRegex(CannotMeasure, "PyTorch's process used 0.20 s of a core"):
            peers.measure(programs.bench(), ["matmul"], 1)

    def test_decoding_is_compared_with_llama_cpp_and_with_the_read_bandwidth(self):
        programs = StandIn([GPT2, BANDWIDTH],
                           [GPT2_IN_PYTORCH])
        with tempfile.TemporaryDirectory() as folder:
            bench = programs.bench(llama_bench(folder, "gpt2 0.1B all F32", 44.0))
            peers.measure(bench, ["gpt2"], 1)
        ratios = {name: row.ratio() for name, row in bench.rows.items()}
        self.assertEqual(ratios[DECODING], 0.5)
        self.assertEqual(ratios[f"{DECODING}; peer: llama.cpp, gpt2 0.1B all F32"], 44 / 40)
        self.assertEqual(ratios[f"{DECODING}; peer: what the read bandwidth allows"], 50 / 40)  # 25 GB/s over 500 MB
        for storage in peers.STORAGES[1:]:
            name = DECODING.replace("f32", storage)
            self.assertEqual(ratios[f"{name}; peer: what the read bandwidth allows"], 200 / 120)  # 25 GB/s over 125 MB
        self.assertEqual(ratios["prefill of 512 tokens, GPT-2 small's shape, f32"], 900 / 600)

    def test_another_model_than_gpt2_small_is_refused(self):
        programs = StandIn([GPT2, BANDWIDTH], [GPT2_IN_PYTORCH])
        refusal = self.assertRaisesRegex(CannotMeasure, "holds gpt2 0.4B all F32; this row needs GPT-2 small")
        with tempfile.TemporaryDirectory() as folder, refusal:
            peers.measure(programs.bench(llama_bench(folder, "gpt2 0.4B all F32", 4.0)), ["gpt2"], 1)


    def test_a_card_is_not_compared_with_the_read_bandwidth_of_the_processor(self):
        programs = StandIn([GPT2], [GPT2_IN_PYTORCH])
        bench = Bench(programs.ours, programs, uses_card=True)
        peers.measure(bench, ["gpt2"], 1)
        self.assertEqual(set(bench.rows), {DECODING, "prefill of 512 tokens, GPT-2 small's shape, f32"})


class OurGpt2InPyTorch(unittest.TestCase):
    @needs_pytorch
    def test_tokens_one_by_one_give_the_logits_of_the_text_at_once(self):
        import pytorch
        import torch

        class Small(pytorch.Gpt2):
            LAYERS, HEADS, WIDTH, CONTEXT, VOCABULARY = 2, 3, 12, 16, 20

        model, tokens = Small(), torch.tensor([3, 1, 4, 1, 5, 9])
        model.length = 0
        whole = model.feed(tokens)
        for way in (torch.nn.functional.linear, pytorch.matrix_times_vector):
            model.length, model.one_row = 0, way
            for token in tokens:
                last = model.feed(token[None])
            torch.testing.assert_close(last, whole)  # in single precision


class OurOperationsInPyTorch(unittest.TestCase):
    @needs_pytorch
    def test_each_operation_that_ours_times_has_a_counterpart(self):
        import pytorch

        self.assertEqual(set(peers.OPERATIONS), set(pytorch.OPERATIONS))


class OurMeasurements(unittest.TestCase):
    def test_a_training_step_is_timed_alone_and_says_what_it_trains(self):
        result = peers.Ours(CLI)("train", "--shapes", "A", "--alone")
        self.assertEqual(set(result), {"A"})  # and nothing of PyTorch
        self.assertEqual(result["A"]["sizes"], [2, 4, 64, 64, 32, 65, 0])
        self.assertGreater(result["A"]["steps"], 1)
        self.assertGreater(result["A"]["ms"], 0)

    def test_an_operation_is_timed(self):
        self.assertGreater(peers.Ours(CLI).operation("causal-convolution"), 0)

    def test_the_read_bandwidth_is_that_of_a_memory(self):
        bandwidth = peers.Ours(CLI)("--only", "bandwidth")["reading memory, every core"]
        self.assertTrue(0.1 < bandwidth < 10000, bandwidth)  # GB/s


class TheCommand(unittest.TestCase):
    def run_command(self, *arguments):
        return subprocess.run([sys.executable, os.path.join(HERE, "peers.py"), CLI, *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)

    def test_it_says_how_to_install_pytorch(self):
        with tempfile.TemporaryDirectory() as folder:
            python = os.path.join(folder, "python")
            with open(python, "w") as file:
                file.write(f"#!/bin/sh\nexit {peers.NO_PYTORCH}\n")
            os.chmod(python, 0o700)
            answer = self.run_command("--python", python)
        self.assertEqual(answer.returncode, 1)
        self.assertIn("sudo apt install python3-torch libopenblas0-openmp", answer.stderr)

    def test_options_that_contradict_one_another_are_refused(self):
        for arguments, message in ((["--llama", "llama-bench"], "--llama and --gguf go together"),
                                   (["--repetitions", "0"], "1 or more"),
                                   (["--gpu", "--llama", "a", "--gguf", "b"], "leave out --gpu or --llama"),
                                   (["--only", "matmul", "--llama", "a", "--gguf", "b"], "add that to --only")):
            answer = self.run_command(*arguments)
            self.assertEqual(answer.returncode, 2)
            self.assertIn(message, answer.stderr)

    def test_software_vulkan_is_no_graphics_card(self):
        if peers.Ours(CLI).device()["type"] != "software":
            self.skipTest("a graphics card is there")
        answer = self.run_command("--gpu")
        self.assertEqual(answer.returncode, 1)
        self.assertRegex(answer.stderr, "finds no graphics card: .* is software")

    @needs_pytorch
    def test_it_measures_both_programs_and_writes_the_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.json")
            answer = self.run_command("--only", "matmul", "--repetitions", "1", "--json", path, "--python", sys.executable)
            self.assertEqual(answer.returncode, 0, answer.stderr)
            with open(path) as file:
                (row,) = json.load(file)["rows"]
        self.assertEqual((row["name"], row["unit"]), ("matmul 512^3", "GFLOP/s"))
        self.assertGreater(row["ours"], 0.01)
        self.assertGreater(row["peer"], 0.01)
        self.assertAlmostEqual(row["ratio"], row["peer"] / row["ours"])
        self.assertIn(f"| matmul 512^3, GFLOP/s | {peers.number(row['ours'])}", answer.stdout)
        self.assertIn("matmul: turn 1 of 1", answer.stderr)


if __name__ == "__main__":
    CLI = sys.argv.pop(1)
    result = unittest.main(exit=False).result
    if result.skipped:
        print("skipped: PyTorch is missing, so the two programs were not measured")
    sys.exit(1 if not result.wasSuccessful() else 77 if result.skipped else 0)
