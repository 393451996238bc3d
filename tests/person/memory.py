#!/usr/bin/env python3
"""Uses the program for an hour as a person does and watches its memory.

Ends with 1 if the memory after the whole time is more than 1.3 times that after ten minutes, or if a step did not work.
"""
import argparse
import os
import random
import re
import sys
import tempfile
import threading
import time

import pyatspi

from person import Missing, Person, has_state, run, text_of, wait

TAB, BUTTON, CHECK, COMBO, SPIN = (pyatspi.ROLE_PAGE_TAB, pyatspi.ROLE_PUSH_BUTTON, pyatspi.ROLE_CHECK_BOX,
                                   pyatspi.ROLE_COMBO_BOX, pyatspi.ROLE_SPIN_BUTTON)
GROWTH = 1.3
HEATMAP = "Attention heatmap: queries down, keys across"
COUNT = r"(\d+) prompt \+ (\d+) generated of (\d+) tokens"
PROMPTS = ["The dog ran to the river because it", "My mother has a garden, and in the garden", "Courage is the", "Once upon a time",
           "Anna lost her book. She asked her brother whether", "We need more", "The king spoke to the queen and", "In the morning"]


class Use:
    """The steps of one round. Chance (with a fixed seed) decides the texts, cells, models and settings."""

    def __init__(self, person, folder):
        self.person, self.folder, self.chance = person, folder, random.Random(27)
        self.picture_count = 0

    def workspace(self, name):
        self.person.click(name, CHECK)

    def open_bundled(self, name):
        self.workspace("Learn")
        self.person.click(re.compile(f"^{name}:"), BUTTON)
        wait(lambda: self.person.window_title().startswith(name), f"{name} did not open")

    def click_somewhere(self, name):
        view = self.person.see(name)
        for _ in range(4):
            self.person.click_on(view, self.chance.uniform(0.15, 0.9), self.chance.uniform(0.15, 0.9))

    def write(self):
        self.open_bundled("english")
        self.workspace("Write")
        self.person.replace("Prompt", self.chance.choice(PROMPTS) + f" {self.chance.randrange(100)}")
        self.person.reads(r"[1-9]\d* prompt \+ 0 generated")
        self.person.click("Speed in tokens per second")
        self.person.keys("End")
        greedy = self.person.see("Greedy", CHECK)
        if has_state(greedy, pyatspi.STATE_CHECKED):
            self.person.click_on(greedy)
        self.person.click("Temperature, slider")
        self.person.keys(*["Right"] * self.chance.randrange(1, 6))
        self.person.click("Run", BUTTON)
        self.person.reads(r"\+ ([4-9]\d|\d{3}) generated")
        self.person.keys("Escape")
        self.person.click("Step", BUTTON)
        self.person.click("Reset", BUTTON)
        self.person.click("Run", BUTTON)
        self.person.reads(r"\+ ([4-9]\d|\d{3}) generated")
        self.person.keys("Escape", "ctrl+z", "ctrl+z", "ctrl+shift+z")

    def search(self):
        self.workspace("Write")
        self.person.replace("Prompt", self.chance.choice(PROMPTS))
        self.person.keys("alt+shift+a")
        tree = "Tree of the texts that the search considered"
        self.person.click("Search one token", BUTTON)
        self.person.see(tree)
        self.person.click(re.compile("^Search$"), BUTTON)
        time.sleep(4)
        self.click_somewhere(tree)
        self.person.click("Attention", TAB)

    def inspect(self):
        self.workspace("Inspect")
        self.person.click("Attention", TAB)
        self.click_somewhere(HEATMAP)
        for spin, last in (("Layer to show, from 0", 3), ("Head to show, from 0", 5)):
            self.person.replace(spin, str(self.chance.randrange(last + 1)))
            self.person.keys("Return")
        for view in ("Arcs", "Words", "Heatmap"):
            self.person.click(view, CHECK)
        for keys in ("ctrl+1", "ctrl+3", "ctrl+2"):
            self.person.keys(keys)
        self.click_somewhere(HEATMAP)
        for tab in ("Heads", "Next token", "One cell", "Model"):
            self.person.click(tab, TAB)

    def lenses(self):
        self.workspace("Inspect")
        self.person.click("Lenses", TAB)
        self.person.click(re.compile("."), COMBO, inside="Lenses")
        self.person.see(re.compile("."), pyatspi.ROLE_LIST_ITEM)
        lenses = list(self.person.all(re.compile("."), pyatspi.ROLE_LIST_ITEM))
        self.person.click_on(self.chance.choice(lenses), 0.1)
        self.person.click("Run or stop this lens", BUTTON)
        time.sleep(5)
        for tab in ("Head kinds", "Profile", "Attention"):
            self.person.click(tab, TAB)
            time.sleep(1)

    def change(self):
        self.workspace("Inspect")
        self.person.click("Changes", TAB)
        self.person.click("Add this change", BUTTON)
        self.person.click("Heads", TAB)
        self.person.click("Remove all heads of this layer, or restore them", BUTTON)
        time.sleep(1)
        self.person.click("Restore the original model", BUTTON)
        self.person.keys("ctrl+z", "ctrl+shift+z")
        self.person.click("Attention", TAB)

    def other_models(self):
        for name in self.chance.sample(["stories", "induction", "sort", "reverse", "add", "masked"], 3):
            self.open_bundled(name)
            self.workspace("Inspect")
            time.sleep(1)
        self.person.keys("ctrl+z")
        time.sleep(1)

    def pictures(self):
        self.picture_count += 1
        path = os.path.join(self.folder, f"picture-{self.picture_count % 5}.png")
        colour = self.chance.choice(["red", "green", "blue"])
        run("convert", "-size", "64x64", "xc:white", "-fill", colour, "-draw", f"circle 32,32 32,{self.chance.randrange(5, 25)}",
            path)
        self.open_bundled(self.chance.choice(["vit-shapes", "vit-fashion"]))
        self.person.keys("ctrl+shift+o")
        self.person.give_file(path)
        self.workspace("Inspect")
        self.person.see(os.path.basename(path), COMBO)
        self.person.keys("ctrl+2")
        self.click_somewhere(re.compile("^Where a patch looks|^Attention heatmap"))

    def train(self):
        self.workspace("Train")
        self.person.click_unless_grey("Reset training", BUTTON)  # grey before the first run
        self.person.click("Train or pause", BUTTON)
        self.person.reads(r"[Ss]tep ([2-9]\d|[\d,]{3,})")
        self.person.keys("F6")
        time.sleep(1)
        self.person.click("Samples", TAB)
        self.person.click("Attention", TAB)

    def compare(self):
        self.open_bundled("english")
        self.workspace("Compare")
        self.person.click(re.compile("^No comparison"), COMBO)
        self.person.keys("Down", "Return")
        time.sleep(4)
        self.person.keys("Home", "Return")
        time.sleep(1)

    def build(self):
        self.workspace("Build")
        self.person.replace("Mask as an expression", self.chance.choice(["full", "causal", "causal & window(8)"]))
        self.person.keys("Return")
        for tab in ("Positions", "Cost", "Reference cards", "Heatmaps"):
            self.person.click(tab, TAB)
            time.sleep(2)
        for _ in range(2):
            self.person.click("Compare", CHECK, inside="Parts of the attention")
            time.sleep(2)

    def session(self):
        path = os.path.join(self.folder, "session.attnlab")
        self.open_bundled("english")
        self.workspace("Write")
        if os.path.exists(path):
            os.remove(path)
        kept = f"Kept {self.chance.randrange(100)}"
        self.person.replace("Prompt", kept)
        self.person.keys("ctrl+shift+s")
        self.person.give_file(path)
        wait(lambda: os.path.getsize(path), "the session was not saved")
        self.person.replace("Prompt", "Another prompt")
        self.person.keys("ctrl+alt+o")
        self.person.give_file(path)
        wait(lambda: text_of(self.person.see("Prompt")) == kept, "the session did not bring its prompt back")

    def look(self):
        for keys in ("ctrl+alt+d", "ctrl+alt+p", "ctrl+alt+l", "ctrl+plus", "ctrl+plus", "ctrl+0"):
            self.person.keys(keys)
            time.sleep(0.5)

    steps = (write, search, inspect, lenses, change, other_models, pictures, train, compare, build, session, look)


def memory_mib(pid):
    """Resident and proportional memory of a process."""
    def read(path, field):
        with open(f"/proc/{pid}/{path}") as lines:
            return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field + ":"))
    return read("status", "VmRSS"), read("smaps_rollup", "Pss")


class Table(threading.Thread):
    """Measures at each full minute and prints a line."""

    def __init__(self, person):
        super().__init__(daemon=True)
        self.person, self.rows, self.is_over = person, [], threading.Event()

    def run(self):
        start = time.time()
        print("minute  RSS MiB  PSS MiB", flush=True)
        while not self.is_over.wait(max(0, start + 60 * (len(self.rows) + 1) - time.time())):
            self.rows.append(memory_mib(self.person.process.pid))
            print(f"{len(self.rows):6d}  {self.rows[-1][0]:7.0f}  {self.rows[-1][1]:7.0f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("folder", help="for the files that the person saves, and pictures of steps that did not work")
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--from-minute", type=int, default=10, help="the minute to compare with")
    options = parser.parse_args()
    if options.minutes <= options.from_minute:
        parser.error("--minutes must be more than --from-minute")
    folder = os.path.abspath(options.folder)
    os.makedirs(folder, exist_ok=True)
    missed = done = 0
    with tempfile.TemporaryDirectory() as home, Person(options.program, home, "--size", "1440x900") as person:
        use, table = Use(person, folder), Table(person)
        table.start()
        while len(table.rows) < options.minutes:
            for step in Use.steps:
                if person.process.poll() is not None:
                    sys.exit(f"the program ended with {person.process.returncode} before the step {step.__name__!r}")
                if len(table.rows) >= options.minutes:
                    break
                try:
                    step(use)
                    done += 1
                except Missing as problem:
                    missed += 1
                    print(f"        {step.__name__}: {problem}", flush=True)
                    person.picture(os.path.join(folder, f"missed-{missed}.png"))
                    person.keys("Escape", "Escape")
        table.is_over.set()
        person.leave()
    early, late = table.rows[options.from_minute - 1], table.rows[options.minutes - 1]
    ratio = late[0] / early[0]
    print(f"{done} steps, {missed} missed. Memory after {options.from_minute} minutes: {early[0]:.0f} MiB; "
          f"after {options.minutes} minutes: {late[0]:.0f} MiB; ratio {ratio:.2f} (at most {GROWTH})")
    return 1 if ratio > GROWTH or missed else 0


if __name__ == "__main__":
    sys.exit(main())
