"""Runs Attention Lab, PyTorch and llama.cpp in turns on the same work, and prints medians, ratios and spread.

`./dev bench peers` builds what is needed and starts this. See docs/speed.md for how figures and ratios are made.
"""
import argparse
import contextlib
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

CORES = 2
STORAGES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_k")
NO_PYTORCH, NO_CARD = 3, 4  # exit codes of pytorch.py where PyTorch is missing, and where it cannot use a graphics card
HOW_TO_INSTALL = """PyTorch is missing for {}. Install it with one of these:
  sudo apt install python3-torch libopenblas0-openmp        (Debian, Ubuntu)
  python3 -m venv peers && peers/bin/pip install torch      then run: ./dev bench peers --python peers/bin/python"""


class CannotMeasure(Exception):
    """The text says why, and where something is missing, how to get it."""


# ---- the programs -------------------------------------------------------------------------------------------------------------


class Ours:
    """attention-bench, which lies beside attention-cli: a process for each measurement."""

    def __init__(self, program):
        self.program, self.bench = program, os.path.join(os.path.dirname(program), "attention-bench")

    def __call__(self, *arguments):
        """What a measurement prints with --json, by name."""
        return json.loads(output_of([self.bench, *arguments, "--json"]))

    def operation(self, name):
        """Milliseconds of an operation."""
        return json.loads(output_of([self.bench, "ops", name]))[name]

    def device(self):
        """The device that it uses: its name, and "software" or what kind of graphics card it is."""
        devices = json.loads(output_of([self.program, "devices", "--json"]))
        return next(device for device in devices if device["default"])

    def costs(self, spec, lengths):
        """Milliseconds of one attention, by length."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cost.json")
            output_of([self.program, "cost", spec, "--measure", "--from", str(lengths[0]), "--to", str(lengths[-1]), "--out", path])
            with open(path) as file:
                return {int(entry["tokens"]): entry["milliseconds"] for entry in json.load(file)}


class PyTorch:
    """A process that waits for work. It sleeps while the others are measured."""

    def __init__(self, python, device):
        environment = dict(os.environ, OMP_WAIT_POLICY="passive")  # threads that wait do not spin
        if fast := glob.glob("/usr/lib/*/openblas-openmp"):
            environment.setdefault("LD_LIBRARY_PATH", fast[0])
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch.py")
        try:
            self.process = subprocess.Popen([python, script, device], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                            env=environment)
        except OSError as error:
            raise CannotMeasure(f"{python} cannot be started: {error.strerror}") from error
        self.about = self.read()

    def read(self):
        if line := self.process.stdout.readline():
            return json.loads(line)
        code, python = self.process.wait(), self.process.args[0]
        raise CannotMeasure(HOW_TO_INSTALL.format(python) if code == NO_PYTORCH
                            else f"PyTorch of {python} is older than version 2 or finds no CUDA card" if code == NO_CARD
                            else f"PyTorch's process has ended with code {code}")

    def __call__(self, what, **arguments):
        with contextlib.suppress(BrokenPipeError):  # read() says more
            self.process.stdin.write(json.dumps({"what": what, **arguments}) + "\n")
            self.process.stdin.flush()
        return self.read()

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            user, system = file.read().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class LlamaCpp:
    """llama.cpp's llama-bench: a process for each measurement."""

    def __init__(self, program, model):
        self.program, self.model = program, model

    def decode(self):
        """Tokens per second, and the kind of model in the file."""
        (result,) = json.loads(output_of([self.program, "-m", self.model, "-p", "0", "-n", "24", "-r", "1", "-t", str(core_count()),
                                          "-ngl", "0", "-o", "json"]))
        return result["avg_ts"], result["model_type"]


def output_of(command):
    try:
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout
    except OSError as error:
        raise CannotMeasure(f"{command[0]} cannot be started: {error.strerror}") from error
    except subprocess.CalledProcessError as error:
        raise CannotMeasure(f"{' '.join(command)} failed:\n{error.stderr.strip()}") from error


def core_count():
    return len(os.sched_getaffinity(0))


# ---- figures ------------------------------------------------------------------------------------------------------------------


@dataclass
class Row:
    """The repetitions of one measurement on both sides, or on ours only."""

    name: str
    unit: str
    ours: list = field(default_factory=list)
    peer: list = field(default_factory=list)

    def median(self, side):
        return statistics.median(side) if side else None

    def ratio(self):
        """Time of ours over time of the peer, between the medians."""
        return time_ratio(self.unit, self.median(self.ours), self.median(self.peer)) if self.peer else None

    def pair_ratios(self):
        """The same for each turn."""
        return [time_ratio(self.unit, ours, peer) for ours, peer in zip(self.ours, self.peer)]

    def as_json(self):
        return {"name": self.name, "ours": self.median(self.ours), "peer": self.median(self.peer), "ratio": self.ratio(),
                "unit": self.unit}

    def cells(self):
        return [f"{self.name}, {self.unit}", with_spread(self.ours), with_spread(self.peer),
                with_spread(self.pair_ratios(), self.ratio())]


def time_ratio(unit, ours, peer):
    """A rate, such as tokens/s, is turned round: below 1, ours is faster."""
    return peer / ours if unit.endswith("/s") else ours / peer


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def with_spread(values, middle=None):
    """The median, or another value for it, and the least and the largest in brackets."""
    if not values:
        return ""
    text = number(statistics.median(values) if middle is None else middle)
    return text if len(values) == 1 else f"{text} ({number(min(values))} to {number(max(values))})"


def table(lines):
    """A table in Markdown, in columns of equal width. @param lines the first has the titles"""
    widths = [max(map(len, column)) for column in zip(*lines)]
    rows = [f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths))} |" for line in lines]
    rows.insert(1, f"|{'|'.join('-' * (width + 2) for width in widths)}|")
    return "\n".join(rows)


# ---- what is measured ---------------------------------------------------------------------------------------------------------


class Bench:
    """The programs, and the rows that they have filled so far."""

    def __init__(self, ours, peer, llama=None, uses_card=False):
        self.ours_, self.peer_, self.llama, self.uses_card = ours, peer, llama, uses_card
        self.rows = {}
        self.notes = {}

    def ours(self, *arguments):
        return self.alone(lambda: self.ours_(*arguments))

    def operation(self, name):
        return self.alone(lambda: self.ours_.operation(name))

    def peer(self, what, **arguments):
        return self.peer_(what, **arguments)

    def alone(self, measure):
        """Measures something while PyTorch's process waits, and makes sure that it does."""
        start, before = time.monotonic(), self.peer_.processor_seconds()
        result = measure()
        used, elapsed = self.peer_.processor_seconds() - before, time.monotonic() - start
        if used > 0.05 + 0.02 * elapsed:
            raise CannotMeasure(f"PyTorch's process used {used:.2f} s of a core while another program was measured for {elapsed:.2f} s")
        return result

    def add(self, name, unit, ours, peer=None):
        row = self.rows.setdefault(name, Row(name, unit))
        row.ours.append(ours)
        if peer is not None:
            row.peer.append(peer)


def training(shape):
    def measure(bench):
        ours = bench.ours("train", "--shapes", shape, "--alone")[shape]
        peer = bench.peer("train", sizes=ours["sizes"], steps=ours["steps"])
        layers, heads, width, context, batch, _, patch_values = ours["sizes"]
        kind = "vision transformer" if patch_values else "decoder"
        bench.add(f"training step {shape}: {kind}, {layers} layers, {heads} heads, width {width}, {batch} x {context} tokens", "ms",
                  ours["ms"], peer["ms"])

    return measure


def matmul(bench):
    name = "matmul 512^3"
    bench.add(name, "GFLOP/s", bench.ours("--only", "matmul")[name], bench.peer("matmul")["GFLOP/s"])


def attention(bench):
    name = "causal attention B1 H8 T2048 D64"
    ours, peer = bench.ours("--only", "attention"), bench.peer("attention")
    bench.add(f"{name}, forward", "ms", ours[name], peer["forward ms"])
    bench.add(f"{name}, forward and backward", "ms", ours[f"{name}, backward too"], peer["both ms"])


OPERATIONS = {"lstm": "LSTM layer, B 32, T 128, width 256, forward and backward",
              "causal-convolution": "causal depthwise convolution of 4 taps, B 8, T 1024, width 512, forward and backward",
              "convolution": "convolution of 3 taps, B 8, T 1024, width 128, forward and backward",
              "experts": "products of 4096 rows with 8 experts' matrices, width 256 to 1024, forward and backward"}


def operation(name):
    def measure(bench):
        bench.add(OPERATIONS[name], "ms", bench.operation(name), bench.peer("operation", name=name)["ms"])

    return measure


def gpt2(bench):
    ours = bench.ours("--only", "gpt2")
    peer = bench.peer("gpt2")
    bench.notes["PyTorch multiplies one row by"] = peer["one row"]
    bench.add("prefill of 512 tokens, GPT-2 small's shape, f32", "tokens/s", ours["GPT-2-small-shaped prefill of 512"],
              peer["prefill tokens/s"])
    decoding, rate = "decoding, GPT-2 small's shape, f32", ours["GPT-2-small-shaped decode"]
    bench.add(decoding, "tokens/s", rate, peer["decode tokens/s"])
    if bench.llama:
        llama_rate, kind = bench.alone(bench.llama.decode)
        if not kind.startswith("gpt2 0.1B"):
            raise CannotMeasure(f"{bench.llama.model} holds {kind}; this row needs GPT-2 small")
        bench.add(f"{decoding}; peer: llama.cpp, {kind}", "tokens/s", rate, llama_rate)
    if not bench.uses_card:
        bandwidth_of_decoding(bench, ours)


def bandwidth_of_decoding(bench, ours):
    """What decoding takes of the read bandwidth of the processor, in which the weights are kept."""
    bandwidth = bench.ours("--only", "bandwidth")["reading memory, every core"]
    bench.add(f"read bandwidth of {core_count()} cores", "GB/s", bandwidth)
    for storage in STORAGES:
        suffix = "" if storage == "f32" else f", {storage}"
        megabytes = ours[f"GPT-2-small-shaped weights read per token{suffix}"]
        bench.add(f"weights read for a token, {storage}", "MB", megabytes)
        bench.add(f"decoding, GPT-2 small's shape, {storage}; peer: what the read bandwidth allows", "tokens/s",
                  ours[f"GPT-2-small-shaped decode{suffix}"], bandwidth * 1e3 / megabytes)


MEASUREMENTS = {"train-A": training("A"), "train-B": training("B"), "train-C": training("C"), "train-ViT": training("ViT"),
                "matmul": matmul, "attention": attention, "gpt2": gpt2, **{name: operation(name) for name in OPERATIONS}}

# Time against length, of our program only.
LENGTHS = [256 << n for n in range(7)]
BY_LENGTH = "lengths"
LENGTH_SPECS = {"full attention": "mask=full", "attention in a window of 256": "mask=causal & window(256)"}
LENGTH_OPERATIONS = {"linear scan": "linear-scan", "selective scan": "selective-scan"}  # forward and backward


def measure_lengths(ours, repetitions, rows):
    for turn in range(repetitions):
        say(f"{BY_LENGTH}: turn {turn + 1} of {repetitions}")
        measured = {name: ours.costs(spec, LENGTHS) for name, spec in LENGTH_SPECS.items()}
        for name, operation in LENGTH_OPERATIONS.items():
            measured[name] = {length: ours.operation(f"{operation}-{length}") for length in LENGTHS}
        for name, times in measured.items():
            for length, elapsed_ms in times.items():
                title = length_title(name, length)
                rows.setdefault(title, Row(title, "ms")).ours.append(elapsed_ms)


def length_title(name, length):
    return f"{name}, {'one head of 32' if name in LENGTH_SPECS else 'width 512'}, T = {length}"


def lengths_table(rows):
    """Milliseconds by length, and how much longer each takes than half of the length."""
    names = [*LENGTH_SPECS, *LENGTH_OPERATIONS]
    lines, before = [["T", *(f"{name}, ms" for name in names)]], {}
    for length in LENGTHS:
        cells = [f"{length:,}"]
        for name in names:
            row = rows[length_title(name, length)]
            now = row.median(row.ours)
            cells.append(with_spread(row.ours) + (f", x {now / before[name]:.2f}" if name in before else ""))
            before[name] = now
        lines.append(cells)
    return table(lines)


# ---- the command --------------------------------------------------------------------------------------------------------------


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench peers", description=__doc__.splitlines()[0])
    parser.add_argument("program", metavar="CLI", help=argparse.SUPPRESS)
    parser.add_argument("--repetitions", type=int, default=5, metavar="N", help="turns of each program (default: 5)")
    parser.add_argument("--only", nargs="+", choices=[*MEASUREMENTS, BY_LENGTH], metavar="NAME",
                        help=f"measure only some of {', '.join(MEASUREMENTS)} and {BY_LENGTH}")
    parser.add_argument("--json", metavar="FILE", help="also write the rows to a file")
    parser.add_argument("--gpu", action="store_true", help="measure the graphics card: ours on Vulkan, PyTorch on CUDA")
    parser.add_argument("--lengths", action="store_true", help="also time our attention and scans against length")
    parser.add_argument("--llama", metavar="BINARY", help="llama.cpp's llama-bench, to compare decoding with; needs --gguf")
    parser.add_argument("--gguf", metavar="FILE", help="GPT-2 small for llama.cpp, in f32")
    parser.add_argument("--python", default="/usr/bin/python3", metavar="PROGRAM",
                        help="Python that has PyTorch (default: /usr/bin/python3)")
    options = parser.parse_args(arguments)
    if options.repetitions < 1:
        parser.error("--repetitions must be 1 or more")
    if options.gpu and options.llama:
        parser.error("llama.cpp is measured on the processor: leave out --gpu or --llama")
    if bool(options.llama) != bool(options.gguf):
        parser.error("--llama and --gguf go together")
    if options.llama and options.only and "gpt2" not in options.only:
        parser.error("--llama is compared in gpt2; add that to --only")
    return options


HOW_TO_READ = """Each cell has the median of the turns, and the least and the largest in brackets.
Ratios are ours / peer in time: below 1, Attention Lab is faster."""


def describe(peer, device):
    if peer.about["card"]:
        return (f"Attention Lab runs on {device['name']} ({device['driver']}), PyTorch {peer.about['version']} on "
                f"{peer.about['card']}, in float32.\n{HOW_TO_READ}")
    libraries = ", ".join(peer.about["blas"]) or "its built-in matrix library"
    attention_kind = "with" if peer.about["has fused attention"] else "without"
    return (f"Both run on {core_count()} cores. PyTorch {peer.about['version']} {attention_kind} fused attention, on "
            f"{peer.about['threads']} threads, with {libraries}.\nLoad before the start: {os.getloadavg()[0]:.2f}. {HOW_TO_READ}")


def say(text):
    print(text, file=sys.stderr, flush=True)


def measure(bench, names, repetitions):
    for name in names:
        for turn in range(repetitions):
            say(f"{name}: turn {turn + 1} of {repetitions}")
            MEASUREMENTS[name](bench)


def compare(options, names, ours):
    """Measures both sides and prints the table. @return the rows, by name"""
    device = ours.device()
    if options.gpu and device["type"] == "software":
        raise CannotMeasure(f"Vulkan finds no graphics card: {device['name']} is software")
    peer = PyTorch(options.python, "cuda" if options.gpu else "cpu")
    about = describe(peer, device)
    bench = Bench(ours, peer, LlamaCpp(options.llama, options.gguf) if options.llama else None, options.gpu)
    measure(bench, names, options.repetitions)
    peer.close()
    notes = [f"{title} {note}." for title, note in bench.notes.items()]
    lines = [["", "Attention Lab", "peer: PyTorch", "ratio"], *(row.cells() for row in bench.rows.values())]
    print("\n".join([about, *notes, "", table(lines)]), flush=True)
    return bench.rows


def run(options):
    if not options.gpu:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])  # the programs that are started inherit it
    ours, rows, names = Ours(options.program), {}, [name for name in options.only or MEASUREMENTS if name != BY_LENGTH]
    if names:
        rows = compare(options, names, ours)
    if options.lengths or BY_LENGTH in (options.only or []):
        measure_lengths(ours, options.repetitions, rows)
        print("\n" + lengths_table(rows))
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"rows": [row.as_json() for row in rows.values()]}, file, indent=2)
            file.write("\n")


if __name__ == "__main__":
    try:
        run(options_of(sys.argv[1:]))
    except CannotMeasure as error:
        say(f"bench peers: {error}")
        sys.exit(1)
