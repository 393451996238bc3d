"""A person in front of the program: finds controls by the names and texts that screen readers speak (AT-SPI), and uses a real
mouse and keyboard (xdotool). Needs a display and a session bus; `./dev person` provides both."""
import itertools
import os
import re
import subprocess
import time

import pyatspi

FIELDS = {pyatspi.ROLE_ENTRY, pyatspi.ROLE_TEXT, pyatspi.ROLE_COMBO_BOX, pyatspi.ROLE_SPIN_BUTTON, pyatspi.ROLE_LABEL}


class Missing(Exception):
    """What a person waited for did not appear."""


def run(*command):
    subprocess.run([str(word) for word in command], check=True)


def wait(condition, complaint, polls=3000):
    """The first true answer of the condition. Objects that are closed while they are read count as not there yet. Counts
    answers of the program and not seconds, since on a busy machine both come slowly."""
    for _ in range(polls):
        try:
            found = condition()
        except Missing:
            raise
        except Exception:
            found = None
        if found:
            return found
        time.sleep(0.1)
    raise Missing(complaint() if callable(complaint) else complaint)


def text_of(thing):
    """The text inside a field or label; empty for other controls."""
    try:
        return thing.queryText().getText(0, -1)
    except (NotImplementedError, AttributeError):
        return ""


def value_of(thing):
    return thing.queryValue().currentValue


def has_state(thing, state):
    return thing.getState().contains(state)


def name_of(thing):
    return (thing.name or "").replace("&", "")


def matches(pattern, text):
    """A plain string has to be the whole text; a compiled pattern may be found anywhere in it."""
    return pattern == text if isinstance(pattern, str) else pattern.search(text)


def box_of(thing):
    return thing.queryComponent().getExtents(pyatspi.DESKTOP_COORDS)


def is_behind_a_tab(thing):
    """Qt keeps a panel whose tab is behind others outside the screen, and calls it visible."""
    return thing.getRole() == pyatspi.ROLE_FRAME and box_of(thing).x < 0


def showing(parent):
    """All that can be seen below an object, in the order of the tree."""
    for i in range(parent.childCount):
        child = parent.getChildAtIndex(i)
        if child is not None and has_state(child, pyatspi.STATE_SHOWING) and not is_behind_a_tab(child):
            yield child
            yield from showing(child)


class Person:
    """Uses one running program. `home` takes the place of the person's home folder."""

    def __init__(self, program, home, *arguments):
        os.makedirs(home, exist_ok=True)
        hidden = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        environment.update(HOME=str(home), QT_LINUX_ACCESSIBILITY_ALWAYS_ON="1")
        self.process = subprocess.Popen([program, *arguments], env=environment)
        wait(lambda: self.process.poll() is not None or self.application().childCount, "the window did not open")
        if self.process.returncode is not None:
            raise Missing(f"the program ended with {self.process.returncode}")
        self.window = subprocess.run(["xdotool", "search", "--sync", "--onlyvisible", "--pid", str(self.process.pid), "--name",
                                      "Attention Lab"], check=True, capture_output=True, text=True).stdout.split()[0]
        run("xdotool", "windowmove", self.window, 0, 0, "windowfocus", self.window)

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()

    def application(self):
        return next(each for each in pyatspi.Registry.getDesktop(0) if each and each.get_process_id() == self.process.pid)

    # ---- seeing

    def all(self, pattern, role=None, inside=None):
        root = next(self.all(inside)) if inside else self.application()
        for thing in showing(root):
            if (role is None or thing.getRole() == role) and matches(pattern, name_of(thing)):
                yield thing

    def see(self, pattern, role=None, inside=None):
        """The first control with this name that can be seen; waits for it."""
        return wait(lambda: next(self.all(pattern, role, inside)), f"nothing on the screen is called {pattern!r}")

    def choice_beside(self, label):
        """The list of choices beside a label with this text."""
        def look():
            things = list(showing(self.application()))
            at = next(i for i, thing in enumerate(things) if thing.getRole() == pyatspi.ROLE_LABEL and name_of(thing) == label)
            return next(thing for thing in things[at:] if thing.getRole() == pyatspi.ROLE_COMBO_BOX)
        return wait(look, f"no list of choices stands beside {label!r}")

    def reads(self, pattern):
        """Waits for a name or text on the screen, and gives the match."""
        pattern = re.compile(pattern)

        def look():
            for thing in showing(self.application()):
                found = pattern.search(name_of(thing)) or thing.getRole() in FIELDS and pattern.search(text_of(thing))
                if found:
                    return found
        return wait(look, f"nothing on the screen says {pattern.pattern!r}")

    def reads_tip(self, pattern, x, y):
        """Rests the mouse at a place of the screen, and gives the match in the tip that opens there. A tip closes after
        some seconds, which a look at the whole window may outlast: the mouse moves again, and only tips are read."""
        pattern, looks = re.compile(pattern), itertools.count()

        def look():
            turn = next(looks)
            if turn % 30 == 0:
                run("xdotool", "mousemove", x + turn // 30 % 2, y)
            for window in self.application():
                if window.getRole() != pyatspi.ROLE_FRAME:
                    for thing in (window, *showing(window)):
                        if found := pattern.search(name_of(thing)):
                            return found
        return wait(look, f"no tip says {pattern.pattern!r}")

    # ---- hands

    def frame(self):
        return box_of(next(each for each in self.application() if each.getRole() == pyatspi.ROLE_FRAME))

    def point(self, thing, x=0.5, y=0.5):
        """Moves the mouse to a place of a control, given as shares of its width and height within the window."""
        box, frame = box_of(thing), self.frame()
        left, top = max(box.x, frame.x), max(box.y, frame.y)
        right, bottom = min(box.x + box.width, frame.x + frame.width), min(box.y + box.height, frame.y + frame.height)
        if left >= right or top >= bottom:
            raise Missing(f"{name_of(thing)!r} lies outside of the window")
        run("xdotool", "mousemove", int(left + (right - left) * x), int(top + (bottom - top) * y))

    def scroll_to(self, thing):
        """Turns the mouse wheel over a page until a control that lies below or above it can be pointed at."""
        status_bar = 40
        frame = self.frame()
        top, bottom = frame.y, frame.y + frame.height - status_bar
        for _ in range(50):
            box = box_of(thing)
            if top <= box.y + box.height // 2 <= bottom:
                return
            run("xdotool", "mousemove", box.x + box.width // 2, (top + bottom) // 2, "click", 5 if box.y > top else 4)
            time.sleep(0.1)

    def click_on(self, thing, x=0.5, y=0.5):
        """Clicks, but waits first while the control is grey."""
        wait(lambda: has_state(thing, pyatspi.STATE_ENABLED), f"{name_of(thing)!r} stays grey")
        return self.press(thing, x, y)

    def press(self, thing, x=0.5, y=0.5):
        self.scroll_to(thing)
        self.point(thing, x, y)
        run("xdotool", "click", 1)
        time.sleep(0.3)
        return thing

    def click(self, pattern, role=None, inside=None):
        return self.click_on(self.see(pattern, role, inside))

    def click_unless_grey(self, pattern, role=None):
        thing = self.see(pattern, role)
        if has_state(thing, pyatspi.STATE_ENABLED):
            self.press(thing)

    def choose(self, choices, entry):
        """Opens a list of choices and clicks an entry."""
        self.click_on(choices)
        self.click_on(self.see(entry, pyatspi.ROLE_LIST_ITEM), 0.1)

    @staticmethod
    def keys(*names):
        run("xdotool", "key", "--delay", 60, *names)
        time.sleep(0.3)

    @staticmethod
    def type(text):
        run("xdotool", "type", "--delay", 15, text)
        time.sleep(0.3)

    def replace(self, pattern, text):
        field = self.click(pattern)
        self.keys("ctrl+a")
        self.type(text)
        return field

    # ---- around the window

    def window_title(self):
        return name_of(next(each for each in self.application() if each.getRole() == pyatspi.ROLE_FRAME))

    def give_file(self, path):
        """Answers the dialog that asks for a file."""
        self.click("File name:", pyatspi.ROLE_TEXT)
        self.keys("ctrl+a")
        self.type(path)
        self.keys("Return")
        wait(lambda: not list(self.all("File name:", pyatspi.ROLE_TEXT)), f"the dialog for {path} stays open")
        run("xdotool", "windowfocus", self.window)  # a window manager would give the focus back

    def picture(self, path):
        run("import", "-silent", "-window", "root", path)

    def leave(self):
        """Closes the window as a person does, and gives the program's exit status."""
        self.keys("ctrl+q")
        return self.process.wait(timeout=600)
