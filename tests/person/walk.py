#!/usr/bin/env python3
"""Uses the program at random: keys, clicks, drags of docks, drops of files, texts, dialogs, models and training, at intervals of
0.02 to 0.5 seconds. Reports crashes, hangs, what the program writes to the terminal, and its memory.

The same seed makes the same actions. After a crash or a hang the program prints the last actions, looks for a few that
show it again, and ends with 1. `--replay FILE` performs the actions of such a list."""
import argparse
import glob
import json
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import time
import zlib

from display import Display

WIDTH, HEIGHT = 1440, 900
INTERVALS = (0.02, 0.02, 0.03, 0.03, 0.05, 0.05, 0.08, 0.12, 0.2, 0.5)
HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN, ASSETS = os.path.join(HERE, "../golden"), os.path.join(HERE, "../../assets")

MODELS = [f"ctrl+shift+{i}" for i in range(10)] + ["ctrl+shift+F1", "ctrl+b", "ctrl+n"]
PLACES = [f"alt+{i}" for i in range(1, 7)] + [f"alt+shift+{key}" for key in "1234567890qwertasdfghyuiop"]
STEPS = ["ctrl+z", "ctrl+z", "ctrl+shift+z", "ctrl+r", "ctrl+t", "ctrl+period", "ctrl+shift+r", "F6", "F7", "F8", "shift+F6",
         "ctrl+shift+h", "ctrl+BackSpace", "ctrl+shift+BackSpace", "ctrl+shift+d", "ctrl+shift+f", "ctrl+1", "ctrl+2", "ctrl+3",
         "ctrl+p", "Return", "space", "Tab", "Tab", "shift+Tab", "Escape", "Left", "Right", "Up", "Down", "Home", "End", "Delete"]
WINDOW = ["ctrl+alt+0", "ctrl+alt+l", "ctrl+alt+d", "ctrl+alt+p", "ctrl+plus", "ctrl+minus", "ctrl+0", "F11", "ctrl+shift+c",
          "ctrl+shift+k", "alt+Home", "shift+F2", "F9"]
DIALOGS = ["ctrl+o", "ctrl+shift+o", "ctrl+alt+i", "ctrl+alt+o", "ctrl+alt+k", "ctrl+s", "ctrl+shift+s", "ctrl+l", "ctrl+e",
           "ctrl+alt+c", "ctrl+alt+m", "ctrl+alt+n", "ctrl+comma", "ctrl+k", "F1", "ctrl+F1", "shift+F1", "ctrl+shift+g",
           "ctrl+alt+b", "F10", "alt+f", "shift+F10", "ctrl+F2"]
TEXTS = ["the cat", "3 1 2", "abcabc", "two hundred", "1, 2, 3", "[MASK] is", "x" * 30, "0.5", " ", "attention"]


class Walk:
    """The actions of a seed. Each is a list whose first entry names a method of Program; the pause after it comes last."""

    def __init__(self, seed, drops):
        self.chance, self.drops = random.Random(seed), drops

    def point(self):
        return self.chance.randrange(WIDTH), self.chance.randrange(HEIGHT)

    def handle(self):
        """Where titles and tabs of docks and edges between them often are."""
        return self.chance.randrange(60, WIDTH), self.chance.choice([36, 40, 44, 60, 64, 500, 520, 540, self.chance.randrange(HEIGHT)])

    def action(self):
        kind, chance = self.chance.random(), self.chance
        if kind < 0.10:
            return ["key", chance.choice(MODELS)]
        if kind < 0.24:
            return ["key", chance.choice(PLACES)]
        if kind < 0.40:
            return ["key", chance.choice(STEPS)]
        if kind < 0.43:
            return ["key", chance.choice(WINDOW)]
        if kind < 0.46:
            return ["key", chance.choice(DIALOGS)]
        if kind < 0.50:
            return ["key", "Escape"]
        if kind < 0.68:
            return ["click", *self.point(), chance.choice([1, 1, 1, 1, 1, 1, 3, 4, 5]), chance.choice([1, 1, 1, 2])]
        if kind < 0.72:
            return ["click", chance.randrange(60), chance.randrange(HEIGHT), 1, 1]
        if kind < 0.84:
            return ["drag", *self.handle(), *self.point(), chance.choice([1, 2, 5])]
        if kind < 0.87:  # a key while the mouse holds something
            return ["dragWithKey", *self.handle(), *self.point(), chance.choice(PLACES + MODELS + STEPS)]
        if kind < 0.92:
            return ["type", chance.choice(TEXTS)]
        if kind < 0.97:
            return ["drop", *self.point(), chance.choice(self.drops)]
        if kind < 0.98:
            return ["resize", chance.randrange(500, WIDTH), chance.randrange(300, HEIGHT)]
        return ["move", *self.point()]

    def actions(self, count):
        return [self.action() + [self.chance.choice(INTERVALS)] for _ in range(count)]


def picture(path, width, height, chance):
    """A PNG of random colours, with transparency."""
    rows = b"".join(b"\0" + chance.randbytes(4 * width) for _ in range(height))

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def makeDrops(folder):
    """Files to drop, in a folder that is the same for the same actions: models, pictures, sessions, texts and rubbish."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "empty"))
    chance = random.Random(1)
    session = {"attnlab": 2, "model": "builtin:induction", "prompt": "abcabc",
               "branches": {"nodes": [[i - 1, token] for i, token in enumerate([1, 2, 3, 1, 2, 3, 1])] + [[5, 2]], "current": 6,
                            "promptLength": 6},
               "sampling": {"greedy": True, "temperature": 1, "topK": 0, "topP": 1, "minP": 0, "repetitionPenalty": 1, "seed": "0"},
               "view": {}, "layout": "", "locks": {}}
    texts = {"notes.txt": "Grüße aus Köln. 世界 🙂 שלום\n" * 3, "long.txt": "The teacher gave the books to the students. " * 330,
             "good.attnlab": json.dumps(session), "broken.attnlab": json.dumps(session)[:-30], "lesson.json": "{}",
             "config.json": '{"model_type": "llama"}'}
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    for name in ("rubbish.safetensors", "model.gguf", "rubbish.png", "no name"):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(chance.randbytes(3000))
    for name, size in (("small.png", (5, 3)), ("wide.png", (300, 40)), ("square.png", (64, 64))):
        picture(os.path.join(folder, name), *size, chance)
    names = [os.path.join(folder, name) for name in sorted(os.listdir(folder))] + [os.path.join(folder, "gone")]
    models = [os.path.join(GOLDEN, name) for name in ("gpt2", "bert", "llama_gqa", "marian", "t5", "xlnet", "vit", "swin", "deit",
                                                      "timm_registers")]
    models += [os.path.join(ASSETS, "models", name) for name in ("english", "vit-shapes", "numbers-de", "masked", "pixels")]
    lessons = [os.path.join(ASSETS, "lessons", name) for name in ("01-weighted-average.json", "06-generation.json")]
    return names * 2 + [os.path.abspath(each) for each in models + lessons] + ["text:The king spoke to", "text:attnlab:rubbish"]


class Ended(Exception):
    """The program has crashed, hangs, or has said something."""


class Program:
    """One running program with a home folder of its own, as the actions use it."""

    def __init__(self, path, folder, patience):
        self.folder, self.patience = folder, patience
        home = os.path.join(folder, "home")
        shutil.rmtree(home, ignore_errors=True)
        os.makedirs(home)
        hidden = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        environment["HOME"] = home
        self.errors = open(os.path.join(folder, "stderr"), "w+b")
        most = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (most, most))
        self.process = subprocess.Popen([path, "--size", f"{WIDTH}x{HEIGHT}"], env=environment, cwd=home, stderr=self.errors,
                                        stdout=self.errors)
        self.path, self.home = path, home
        self.display, self.peak = Display(), 0
        self.window = int(self.ask("xdotool", "search", "--sync", "--onlyvisible", "--pid", self.process.pid, "--name", "Attention Lab"))
        self.display.focus(self.window)
        self.check(60)

    @staticmethod
    def ask(*command):
        return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, timeout=120).stdout.split()[0]

    def lives(self):
        return self.process.poll() is None

    def said(self):
        self.errors.flush()
        with open(self.errors.name, "rb") as file:
            return file.read().decode(errors="replace")

    def stack(self):
        """Where it crashed, if the system keeps cores in the working folder and gdb is there."""
        cores = glob.glob(os.path.join(self.home, "core*"))
        if not cores or not shutil.which("gdb"):
            return ""
        found = subprocess.run(["gdb", "-batch", "-ex", "bt 40", self.path, cores[0]], capture_output=True, text=True).stdout
        return "\n".join(line for line in found.splitlines() if line.startswith("#"))

    def check(self, patience=None):
        """@throws Ended unless the program lives and answers"""
        if self.lives() and not self.display.answers(self.window, patience or self.patience, self.lives) and self.lives():
            raise Ended(f"hangs: no answer in {patience or self.patience} s")
        if not self.lives():
            raise Ended(f"ended with {self.process.returncode}")
        with open(f"/proc/{self.process.pid}/status") as lines:
            self.peak = max(self.peak, next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS:")))

    def end(self):
        if self.lives():
            self.process.terminate()
            try:
                return self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait()

    # ---- actions

    def key(self, names):
        self.display.key(names)

    def type(self, text):
        self.display.type(text)

    def click(self, x, y, button, times):
        self.display.click(x, y, button, times)

    def move(self, x, y):
        self.display.move(x, y)

    def drag(self, x, y, toX, toY, steps):
        self.display.move(x, y)
        self.display.button(1)
        for step in range(1, steps + 1):
            self.display.move(x + (toX - x) * step / steps, y + (toY - y) * step / steps)
        self.display.button(0)

    def dragWithKey(self, x, y, toX, toY, key):
        self.display.move(x, y)
        self.display.button(1)
        self.display.move((x + toX) / 2, (y + toY) / 2)
        self.display.key(key)
        time.sleep(0.02)
        self.display.move(toX, toY)
        self.display.button(0)

    def drop(self, x, y, what):
        if what.startswith("text:"):
            self.display.drop(self.window, x, y, "text/plain;charset=utf-8", what[5:].encode(), self.lives)
        else:
            uri = "file://" + "".join(letter if letter.isalnum() or letter in "/._-" else f"%{ord(letter):02x}" for letter in what)
            self.display.drop(self.window, x, y, "text/uri-list", (uri + "\r\n").encode(), self.lives)

    def resize(self, width, height):
        self.display.resize(self.window, width, height)

    def perform(self, actions, often=20):
        """@throws Ended with the number of actions before it"""
        for done, (name, *arguments, pause) in enumerate(actions, 1):
            getattr(self, name)(*arguments)
            time.sleep(pause)
            try:
                if done % often == 0 or done == len(actions):
                    self.check()
                elif not self.lives():
                    self.check()
            except Ended as problem:
                problem.done = done
                raise


def trial(options, actions, often):
    """What goes wrong with these actions in a new program, or nothing; the memory; what it wrote to the terminal."""
    program = Program(options.program, options.folder, options.patience)
    problem = None
    try:
        program.perform(actions, often)
    except Ended as found:
        problem = found
    end = program.end()
    said = program.said()[-3000:] + (program.stack() if end < 0 else "")
    if not problem and end != 0:
        problem = Ended(f"ended with {end} when it was closed")
        problem.done = len(actions)
    return problem, program.peak, said


def shrunk(options, actions):
    """Few of the actions that still end the program: the last ones, and of those what is needed. Looks no longer than it may."""
    end = time.time() + options.shrink
    count = 4
    while time.time() < end and count < len(actions) and not trial(options, actions[-count:], 5)[0]:
        count *= 3
    few = actions[-count:]
    size = max(1, len(few) // 2)
    while size >= 1 and len(few) > 1:
        at = 0
        while at < len(few) and time.time() < end:
            fewer = few[:at] + few[at + size:]
            if fewer and trial(options, fewer, 5)[0]:
                few = fewer
            else:
                at += size
        size //= 2
    return few


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("folder", help="for the home of the program, the files to drop and the lists of actions")
    parser.add_argument("--actions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rest", type=float, help="seconds between two actions, in place of random ones")
    parser.add_argument("--patience", type=float, default=30, help="seconds without an answer that count as a hang")
    parser.add_argument("--shrink", type=float, default=300, help="seconds to look for fewer actions after a crash")
    parser.add_argument("--replay", help="a file with a list of actions")
    options = parser.parse_args()
    options.program, options.folder = os.path.abspath(options.program), os.path.abspath(options.folder)
    os.makedirs(options.folder, exist_ok=True)
    drops = makeDrops(os.path.join(options.folder, "drops"))
    if options.replay:
        with open(options.replay) as file:
            actions = json.load(file)
    else:
        actions = Walk(options.seed, drops).actions(options.actions)
    if options.rest is not None:
        actions = [action[:-1] + [options.rest] for action in actions]
    start = time.time()
    problem, peak, said = trial(options, actions, 20)
    done = problem.done if problem else len(actions)
    print(f"seed {options.seed}: {done} of {len(actions)} actions in {time.time() - start:.0f} s, at most {peak} MiB; "
          f"{problem or 'it lives'}", flush=True)
    if said:
        print(f"the program wrote:\n{said}", flush=True)
    if problem:
        path = os.path.join(options.folder, f"crash-{options.seed}.json")

        def keep(few):
            with open(path, "w") as file:
                file.write("[" + ",\n ".join(json.dumps(action) for action in few) + "]\n")
        keep(actions[:done])
        if options.shrink > 0:
            few = shrunk(options, actions[:done])
            keep(few)
        with open(path) as file:
            print(f"--replay {path}\n{file.read()[-3000:]}", flush=True)
    return 1 if problem or said else 0


if __name__ == "__main__":
    sys.exit(main())
