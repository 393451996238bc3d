#!/usr/bin/env python3
"""Acts like a teacher in front of a class: reaches eight goals in the running window with the mouse and the keyboard.

Starts the program twice in the same home folder: the second start has to open where the first one was left. Prints one line for
each goal and the time that it took; ends with 1 if a goal was missed.
"""
import argparse
import json
import os
import re
import sys
import tempfile
import time
import xml.etree.ElementTree

import pyatspi

from person import Missing, Person, has_state, name_of, run, showing, text_of, value_of, wait

TAB, BUTTON, CHECK, COMBO, SPIN, CELL = (pyatspi.ROLE_PAGE_TAB, pyatspi.ROLE_PUSH_BUTTON, pyatspi.ROLE_CHECK_BOX,
                                         pyatspi.ROLE_COMBO_BOX, pyatspi.ROLE_SPIN_BUTTON, pyatspi.ROLE_TABLE_CELL)
SENTENCE = "My students read the books because they"
HEATMAP = "Attention heatmap: queries down, keys across"
SPACE = "␣"


def require(condition, complaint):
    if not condition:
        raise Missing(complaint)


class Teacher:
    def __init__(self, person, folder):
        self.person, self.folder = person, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def open_english(self):
        self.person.click("Learn", CHECK)
        self.person.click(re.compile("^english:"), BUTTON)
        wait(lambda: self.person.window_title().startswith("english"), "the model english does not open")

    def write_sentence(self):
        self.person.click("Write", CHECK)
        self.person.replace("Prompt", SENTENCE)

    def tick(self, thing, is_wanted):
        if has_state(thing, pyatspi.STATE_CHECKED) != is_wanted:
            self.person.click_on(thing)
        wait(lambda: has_state(thing, pyatspi.STATE_CHECKED) == is_wanted, f"{thing.name} does not change")

    def read_sentence(self):
        """Walks down the first column of the heatmap with the arrow keys until its rows are the sentence: the label of each row,
        and its weight. Begins again if another run came meanwhile."""
        heatmap = self.person.see(HEATMAP)
        pattern = re.compile(r"“([^“”]*)” \((\d+)\) gives ([\d.]+) % of its attention to “([^“”]*)” \((\d+)\)")
        for _ in range(20):
            self.person.click_on(heatmap, 0.2, 0.5)
            self.person.keys(*["Up"] * 20, *["Left"] * 20)
            rows, weights = [], []
            try:
                while "".join(rows).replace(SPACE, " ") != SENTENCE:
                    found = wait(lambda: (found := pattern.search(heatmap.description)) and (found[2], found[5]) == (str(len(rows)), "0") and found,
                                 "the row does not come", polls=100)
                    rows.append(found[1])
                    weights.append(float(found[3]) / 100)
                    self.person.keys("Down")
                return rows, weights
            except Missing:
                last = heatmap.description
        raise Missing(f"the rows of the heatmap are {rows}, then it says {last!r}")

    def own_sentence(self):
        self.open_english()
        self.write_sentence()
        self.person.click("Inspect", CHECK)
        self.person.click("Show one head with its tokens")
        rows, weights = self.read_sentence()
        require(weights[0] == 1 and all(0 <= weight <= 1 for weight in weights), f"the first column is {weights}")
        return f"{len(rows)} rows, {rows[-1]} gives the first token {weights[-1]}"

    def causal_and_bidirectional(self):
        self.person.click("Build", CHECK)
        self.person.click("Heatmaps", TAB)
        compare = self.person.see("Compare", CHECK, inside="Parts of the attention")
        self.tick(compare, True)
        for side, mask in (("A", "causal"), ("B", "full")):
            self.person.click(side, TAB)
            field = self.person.replace("Mask as an expression", mask)
            self.person.keys("Return")
            wait(lambda: text_of(field) == mask, f"the mask of {side} is not {mask}")
        readings = {}
        for side in "AB":
            pattern = self.person.see(f"Heatmap: {side}: Pattern")
            self.person.click_on(pattern, 0.4, 0.3)  # above the diagonal
            self.person.keys("Right")
            readings[side] = wait(lambda: re.search(r"query i = (\d+), key j = (\d+): (.*)", pattern.description),
                                  lambda: f"{pattern.name} says {pattern.description!r}")
            require(int(readings[side][2]) > int(readings[side][1]), f"{readings[side][0]} is not a later token")
        require("hidden" in readings["A"][3], f"A is not causal: {readings['A'][0]}")
        require(float(readings["B"][3]) > 0, f"B hides later tokens: {readings['B'][0]}")
        self.tick(compare, False)
        return f"A: {readings['A'][0]}; B: {readings['B'][0]}"

    def three_positions(self):
        self.person.click("Positions", TAB)
        seen = {}
        for scheme in ("Sinusoidal", "ALiBi", "T5 buckets"):
            choice = self.person.choice_beside("Position")
            self.person.choose(choice, scheme)
            wait(lambda: name_of(choice) == scheme, lambda: f"the position is {choice.name!r}")
            formula = self.person.see("Formula")
            wait(lambda: formula.description not in seen.values(), f"{scheme} shows the formula of another scheme")
            seen[scheme] = formula.description
            figures = list(self.person.all(re.compile("^(Plot|Heatmap): ")))
            require(figures, f"{scheme} shows no picture")
            time.sleep(1)
            self.person.picture(self.path(f"positions-{scheme.lower()}.png"))
        self.person.click("Heatmaps", TAB)
        return ", ".join(seen)

    def training(self):
        state = r"Step ([\d,]+) of [\d,]+"
        self.person.click("Train", CHECK)
        self.person.click_unless_grey("Reset training", BUTTON)  # grey before the first run
        self.person.click("Train or pause", BUTTON)
        first = self.person.reads(state + r"(?s:.*)loss ([\d.]+)")
        views = r"views show step ([1-9]\d*)"
        seen = self.person.reads(views)[1]
        wait(lambda: self.person.reads(views)[1] != seen, "the views stay at one step")
        last = wait(lambda: (now := self.person.reads(state + r"(?s:.*)loss ([\d.]+)")) and float(now[2]) < float(first[2]) and now,
                    "the loss does not fall")
        self.person.click("Train or pause", BUTTON)
        return f"step {last[1]}, loss {first[2]} to {last[2]}, views follow"

    def answer(self, choice, *weights):
        """A step of the lesson: predict, then set the weights."""
        self.person.click(re.compile(f"^Choice {choice}"), CHECK)
        for number, weight in enumerate(weights, 1):
            self.person.replace(f"Weight {number}", str(weight))
            self.person.keys("Tab")
        self.go_on()

    def go_on(self):
        button = self.person.see(re.compile("^(Next|Finish)$"), BUTTON)
        wait(lambda: has_state(button, pyatspi.STATE_ENABLED), "the step of the lesson is not done")
        self.person.click_on(button)

    def lesson(self):
        self.person.click("Learn", CHECK)
        self.person.click(re.compile("1. Attention is a weighted average"))
        self.person.click("Start", BUTTON)
        self.person.reads("step 1 of 4")
        self.answer(2, 0.5, 0.5, 0)
        self.answer(3, 0.25, 0.25, 0.5)
        self.answer(2, 0, 0, 1)
        self.person.replace("Your prediction", "0.33")
        self.person.click("Answer", BUTTON)
        self.person.click("Show the arithmetic of one query and one key")
        self.go_on()
        self.person.reads("Lesson finished")
        lesson = self.person.see(re.compile("Attention is a weighted average"))
        require(lesson.description == "finished", f"the list calls the lesson {lesson.description!r}")
        return lesson.name

    def temperature(self):
        self.open_english()
        self.write_sentence()
        self.person.click("Reset", BUTTON)
        self.tick(self.person.see("Greedy", CHECK), False)
        self.person.click("Temperature, slider")
        self.person.keys("Home", *["Right"] * 10)
        value = value_of(self.person.see("Temperature", SPIN))
        require(value != 1, "the temperature stays at 1")
        require(not has_state(self.person.see("Greedy", CHECK), pyatspi.STATE_CHECKED), "the temperature is not in use")
        self.person.click("Run", BUTTON)
        self.person.reads(r"\+ [1-9]\d+ generated")
        self.person.click_unless_grey("Stop", BUTTON)  # a text may have come to its end
        text = self.person.see("Text so far")
        written = text_of(text)
        require(written.startswith(SENTENCE) and len(written) > len(SENTENCE) + 10, f"the text is {written!r}")
        box = text.queryText().getCharacterExtents(len(SENTENCE) + 2, pyatspi.DESKTOP_COORDS)
        probability = self.person.reads_tip(r"Token \d+, id \d+, probability ([\d.]+) %", box[0] + box[2] // 2, box[1] + box[3] // 2)
        candidates = list(self.person.all(re.compile(r"probability [\d.]+ %"), CELL))
        require(candidates, "no next token has a probability")
        return f"temperature {value:g}: {written[len(SENTENCE):]!r}, {probability[0]}; next: {candidates[0].name!r}"

    def own_picture(self):
        """An arrow that points at one of four shapes: the model names this shape."""
        path = self.path("circle.png")
        shapes = (("royalblue", "rectangle 4,26 15,37"), ("royalblue", "rectangle 26,4 37,15"),
                  ("orange", "polygon 54,26 48,37 60,37"), ("red", "circle 32,54 32,48"),
                  ("white", "rectangle 30,23 33,34"), ("white", "polygon 26,34 37,34 32,41"))
        drawing = [word for colour, shape in shapes for word in ("-fill", colour, "-draw", shape)]
        run("convert", "-size", "64x64", "xc:gray18", *drawing, path)
        self.person.keys("ctrl+shift+o")
        self.person.give_file(path)
        self.person.see("circle.png", COMBO)

        def classes():
            table = [name_of(cell) for cell in showing(self.person.see("Predicted classes")) if cell.getRole() == CELL]
            return list(zip(table[::2], table[1::2]))
        found = wait(classes, "the model names no class")
        require(found[0][0] == "circle", f"the model takes the circle for {found[0]}")
        sum_of_all = sum(float(share.lstrip("<").rstrip(" %")) for _, share in found)
        require(abs(sum_of_all - 100) < 1, f"the probabilities sum to {sum_of_all} %")
        return ", ".join(f"{name} {share}" for name, share in found)

    def save(self, keys, name):
        path = self.path(name)
        if os.path.exists(path):
            os.remove(path)
        self.person.keys(keys)
        self.person.give_file(path)
        wait(lambda: os.path.getsize(path) > 1000, f"{name} was not written")
        return path

    def session_and_svg(self):
        self.open_english()
        self.write_sentence()
        session = self.save("ctrl+shift+s", "class.attnlab")
        with open(session) as file:
            require(SENTENCE in json.dumps(json.load(file)), "the session lacks the sentence")
        self.person.replace("Prompt", "Something else")
        self.person.keys("ctrl+alt+o")
        self.person.give_file(session)
        wait(lambda: text_of(self.person.see("Prompt")) == SENTENCE, "the session does not bring the sentence back")
        self.person.click("Inspect", CHECK)
        self.person.click("Show one head with its tokens")
        rows, _ = self.read_sentence()
        drawing = xml.etree.ElementTree.parse(self.save("ctrl+shift+e", "figure.svg"))
        texts = ["".join(each.itertext()).strip() for each in drawing.iter("{http://www.w3.org/2000/svg}text")]
        for row in rows:
            require(texts.count(row) >= 2 * rows.count(row), f"the SVG lacks the label {row!r} of a row and a column: {texts}")
        return f"the session opens, the SVG has {len(rows)} rows and columns with labels"

    goals = (own_sentence, causal_and_bidirectional, three_positions, training, lesson, temperature, own_picture, session_and_svg)


def teach(program, home, folder, number_of_start):
    """One start of the program: all goals. Gives the number of goals that were missed."""
    os.makedirs(folder, exist_ok=True)
    missed, start = 0, time.time()
    with Person(program, home, "--size", "1440x900") as person:
        teacher = Teacher(person, folder)
        if number_of_start > 1:
            wait(lambda: text_of(person.see("Prompt")) == SENTENCE, "the second start does not open where the first one was left")
            require(has_state(person.see("Inspect", CHECK), pyatspi.STATE_CHECKED), "the second start shows another workspace")
            print("   opens where the teacher left it")
        for number, goal in enumerate(Teacher.goals, 1):
            begin = time.time()
            name = goal.__name__.replace("_", " ")
            try:
                result = goal(teacher)
                print(f"{number}. {name}: reached in {time.time() - begin:.1f} s ({result})", flush=True)
            except Missing as problem:  # the next goals are tried all the same
                missed += 1
                print(f"{number}. {name}: missed ({problem})", flush=True)
            person.picture(os.path.join(folder, f"goal-{number}.png"))
        require(person.leave() == 0, "the program did not end well")
    print(f"{len(Teacher.goals) - missed} of {len(Teacher.goals)} goals in {time.time() - start:.0f} s", flush=True)
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("folder", help="for pictures of each goal, and the files that the teacher saves")
    parser.add_argument("--starts", type=int, default=2, help="how often the program is started in one home folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        missed = [teach(options.program, home, os.path.join(os.path.abspath(options.folder), f"start-{number}"), number)
                  for number in range(1, options.starts + 1)]
    return 1 if sum(missed) else 0


if __name__ == "__main__":
    sys.exit(main())
