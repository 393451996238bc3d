#!/usr/bin/env python3
"""Acts like a teacher in front of a class: reaches eight goals in the running window with the mouse and the keyboard.

It finds controls by the names that screen readers speak (AT-SPI) and clicks on them with xdotool, so it needs a display, a
session bus and the accessibility bus (packages at-spi2-core, python3-pyatspi, xdotool, imagemagick). Arguments: the program, and a folder for pictures of
each goal. Prints one line for each goal and the time that it took; ends with 1 if a goal was missed.
"""
import os
import subprocess
import sys
import time

import pyatspi

PROGRAM, FOLDER = sys.argv[1], os.path.abspath(sys.argv[2])
PATIENCE_S = 90


def run(*command):
    subprocess.run(command, check=True)


def wait(condition, what):
    end = time.time() + PATIENCE_S
    while time.time() < end:
        try:
            found = condition()
        except Exception:  # an object that was closed while it was read
            found = None
        if found:
            return found
        time.sleep(0.1)
    raise TimeoutError(what)


def objects(parent):
    for i in range(parent.childCount):
        child = parent.getChildAtIndex(i)
        if child is not None:
            yield child
            yield from objects(child)


def application():
    return next((a for a in pyatspi.Registry.getDesktop(0) if a and a.name == "attention-lab"), None)


def is_showing(thing):
    return thing.getState().contains(pyatspi.STATE_SHOWING)


def see(name, role=None, is_last=False):
    """The first or the last control with this name that can be seen; waits for it."""
    def look():
        found = [thing for thing in objects(application())
                 if thing.name.replace("&", "") == name and (role is None or thing.getRole() == role) and is_showing(thing)]
        return found and found[-1 if is_last else 0]
    return wait(look, f"nothing on the screen is called {name!r}")


def middle(thing):
    box = thing.queryComponent().getExtents(pyatspi.DESKTOP_COORDS)
    return box.x + box.width // 2, box.y + box.height // 2


def click(name, role=None, at=None, is_last=False):
    thing = see(name, role, is_last)
    x, y = at(thing) if at else middle(thing)
    run("xdotool", "mousemove", str(x), str(y), "click", "1")
    time.sleep(0.3)
    return thing


def keys(*names):
    run("xdotool", "key", "--delay", "60", *names)
    time.sleep(0.3)


def write(text):
    run("xdotool", "type", "--delay", "15", text)
    time.sleep(0.3)


def text_of(thing):
    return thing.queryText().getText(0, -1)


def words_of(thing):
    """The text of a label or a field; empty for other controls."""
    try:
        return text_of(thing)
    except NotImplementedError:
        return ""


def replace(name, text):
    click(name)
    keys("ctrl+a")
    write(text)


def says(part):
    """Waits for a text on the screen."""
    def is_said():
        for thing in objects(application()):
            if is_showing(thing) and (part in (thing.name or "") or part in words_of(thing)):
                return True
        return False
    return wait(is_said, f"nothing says {part!r}")


def picture(name):
    run("import", "-silent", "-window", "root", os.path.join(FOLDER, name + ".png"))


def own_sentence():
    click("Write")
    replace("Prompt", "My students read the books because they")
    says("7 prompt +")
    click("Inspect")
    heatmap = see("Attention heatmap: queries down, keys across")
    click(heatmap.name, at=lambda t: (middle(t)[0] - 60, middle(t)[1] + 120))
    wait(lambda: heatmap.description, "a click on a cell says nothing")
    return heatmap.description


def causal_and_bidirectional():
    click("Build")
    click("Compare", pyatspi.ROLE_CHECK_BOX, is_last=True)  # the first one is the workspace
    mask = click("Mask as an expression")
    keys("ctrl+a")
    write("full")
    keys("Return")
    wait(lambda: text_of(mask) == "full", "the mask of B is not full")
    time.sleep(2)
    click("Compare", pyatspi.ROLE_CHECK_BOX, is_last=True)
    return "A is causal, B is full"


def three_positions():
    click("Build")
    seen = ["ALiBi"]
    click("Positions", pyatspi.ROLE_PAGE_TAB)
    for scheme in ("Sinusoidal", "Learned", "T5"):
        choice = click(seen[-1], pyatspi.ROLE_COMBO_BOX)
        write(scheme)
        keys("Return")
        wait(lambda: choice.name.startswith(scheme), f"the position is {choice.name!r}")
        time.sleep(2)
        seen.append(choice.name)
        picture("positions-" + scheme.lower())
    return ", ".join(seen[1:])


def training():
    def step():
        return int(words_of(see("Training state")).split()[1].replace(",", ""))
    click("Train")
    click("Train or pause")
    wait(lambda: step() >= 20, "no step is taken")
    return f"step {step()}"


def lesson():
    click("Learn")
    click("Start", pyatspi.ROLE_PUSH_BUTTON)
    says("Leave")
    click("Leave")
    return "began and left a lesson"


def temperature():
    keys("Escape", "ctrl+n")  # training pauses
    says("english")
    click("Greedy", pyatspi.ROLE_CHECK_BOX)
    click("Run")

    def written():
        return int(words_of(see("Number of tokens")).split()[3])
    wait(lambda: written() >= 10, "the model writes nothing")
    keys("Escape")
    return words_of(see("Number of tokens"))


def own_picture():
    path = os.path.join(FOLDER, "circle.png")
    run("convert", "-size", "64x64", "xc:white", "-fill", "red", "-draw", "circle 32,32 32,12", path)
    keys("ctrl+shift+o")
    time.sleep(1)
    write(path)
    keys("Return")
    says("circle")
    return "the model names classes"


def session_and_svg():
    keys("ctrl+n")
    says("english")
    click("Inspect")
    for shortcut, name in (("ctrl+shift+s", "class.attnlab"), ("ctrl+shift+e", "figure.svg")):
        path = os.path.join(FOLDER, name)
        keys(shortcut)
        time.sleep(1)
        keys("ctrl+a")
        write(path)
        keys("Return")
        wait(lambda: os.path.exists(path) and os.path.getsize(path) > 1000, f"{name} was not written")
    return "class.attnlab, figure.svg"


GOALS = [own_sentence, causal_and_bidirectional, three_positions, training, lesson, temperature, own_picture,
         session_and_svg]


def main():
    os.makedirs(FOLDER, exist_ok=True)
    program = subprocess.Popen([PROGRAM, "--size", "1440x900"])
    missed = 0
    try:
        wait(lambda: application() and application().childCount, "the window did not open")
        window = subprocess.run(["xdotool", "search", "--sync", "--onlyvisible", "--pid", str(program.pid), "--name",
                                 "Attention Lab"], check=True, capture_output=True, text=True).stdout.split()[0]
        run("xdotool", "windowmove", window, "0", "0", "windowfocus", window)
        for number, goal in enumerate(GOALS, 1):
            start = time.time()
            name = goal.__name__.replace("_", " ")
            try:
                result = goal()
                print(f"{number}. {name}: reached in {time.time() - start:.1f} s ({result})", flush=True)
            except Exception as problem:  # the next goals are tried all the same
                missed += 1
                print(f"{number}. {name}: missed ({problem})", flush=True)
            picture(f"goal-{number}")
    finally:
        program.terminate()
        program.wait()
    print(f"{len(GOALS) - missed} of {len(GOALS)} goals")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
