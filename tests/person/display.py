"""A keyboard, a mouse and a file manager on an X display, fast enough for fifty actions a second: XTest and drag and drop (XDND)
through ctypes, with the libraries that xdotool needs."""
import ctypes
import time

LONG, INT, POINTER = ctypes.c_long, ctypes.c_int, ctypes.c_void_p
ULONG = ctypes.c_ulong
CLIENT_MESSAGE, SELECTION_NOTIFY, SELECTION_REQUEST = 33, 31, 30
MODIFIERS = {"ctrl": "Control_L", "shift": "Shift_L", "alt": "Alt_L"}


class Message(ctypes.Structure):
    _fields_ = [("type", INT), ("serial", ULONG), ("isSent", INT), ("display", POINTER), ("window", ULONG), ("kind", ULONG),
                ("format", INT), ("data", LONG * 5)]


class Request(ctypes.Structure):
    _fields_ = [("type", INT), ("serial", ULONG), ("isSent", INT), ("display", POINTER), ("owner", ULONG), ("requestor", ULONG),
                ("selection", ULONG), ("target", ULONG), ("property", ULONG), ("time", ULONG)]


class Notice(ctypes.Structure):
    _fields_ = [("type", INT), ("serial", ULONG), ("isSent", INT), ("display", POINTER), ("requestor", ULONG), ("selection", ULONG),
                ("target", ULONG), ("property", ULONG), ("time", ULONG)]


class Event(ctypes.Union):
    _fields_ = [("type", INT), ("message", Message), ("request", Request), ("notice", Notice), ("room", LONG * 24)]


class Display:
    def __init__(self):
        self.x, self.test = ctypes.CDLL("libX11.so.6"), ctypes.CDLL("libXtst.so.6")
        for function, result in (("XOpenDisplay", POINTER), ("XDefaultRootWindow", ULONG), ("XInternAtom", ULONG),
                                 ("XStringToKeysym", ULONG), ("XCreateSimpleWindow", ULONG), ("XKeycodeToKeysym", ULONG)):
            getattr(self.x, function).restype = result
        self.x.XKeysymToKeycode.restype = ctypes.c_ubyte
        self.ignore = ctypes.CFUNCTYPE(INT, POINTER, POINTER)(lambda display, error: 0)  # windows may close at any time
        self.x.XSetErrorHandler(self.ignore)
        self.display = POINTER(self.x.XOpenDisplay(None))
        if not self.display:
            raise RuntimeError("there is no display")
        self.root = self.x.XDefaultRootWindow(self.display)

    def source(self):
        """The window of a new drag. Each has its own, so that a late answer to one that was given up is none to the next."""
        return self.x.XCreateSimpleWindow(self.display, ULONG(self.root), 0, 0, 1, 1, 0, ULONG(0), ULONG(0))

    def atom(self, name):
        return self.x.XInternAtom(self.display, name.encode(), 0)

    # ---- hands

    def code(self, name):
        """The key of a character or a key's name, and whether Shift is needed."""
        symbol = self.x.XStringToKeysym(name.encode()) or ord(name)
        code = self.x.XKeysymToKeycode(self.display, ULONG(symbol))
        return code, self.x.XKeycodeToKeysym(self.display, ctypes.c_ubyte(code), 0) != symbol

    def press(self, code, isDown):
        self.test.XTestFakeKeyEvent(self.display, code, isDown, ULONG(0))

    def key(self, names):
        """"ctrl+shift+1": presses and releases."""
        *held, last = names.split("+")
        code, needsShift = self.code(last)
        codes = [self.code(MODIFIERS[name])[0] for name in held + ["shift"] * (needsShift and "shift" not in held)]
        for each in codes:
            self.press(each, 1)
        self.press(code, 1)
        self.press(code, 0)
        for each in reversed(codes):
            self.press(each, 0)
        self.x.XFlush(self.display)

    def type(self, text):
        for letter in text:
            self.key("space" if letter == " " else letter)

    def move(self, x, y):
        self.test.XTestFakeMotionEvent(self.display, -1, int(x), int(y), ULONG(0))
        self.x.XFlush(self.display)

    def button(self, isDown, number=1):
        self.test.XTestFakeButtonEvent(self.display, number, isDown, ULONG(0))
        self.x.XFlush(self.display)

    def click(self, x, y, number=1, times=1):
        self.move(x, y)
        for _ in range(times):
            self.button(1, number)
            self.button(0, number)

    def focus(self, window):
        self.x.XSetInputFocus(self.display, ULONG(window), 1, ULONG(0))
        self.x.XFlush(self.display)

    def resize(self, window, width, height):
        self.x.XResizeWindow(self.display, ULONG(window), width, height)
        self.x.XFlush(self.display)

    # ---- talking to the program

    def send(self, window, kind, *data):
        event = Event()
        event.message = Message(type=CLIENT_MESSAGE, display=self.display, window=window, kind=self.atom(kind), format=32,
                                data=(LONG * 5)(*data))
        self.x.XSendEvent(self.display, ULONG(window), 0, LONG(0), ctypes.byref(event))
        self.x.XFlush(self.display)

    def events(self, patience, isAlive=lambda: True):
        """Events until the time is over, or the program has ended."""
        end, event = time.time() + patience, Event()
        while time.time() < end and isAlive():
            while self.x.XPending(self.display):
                self.x.XNextEvent(self.display, ctypes.byref(event))
                yield event
            time.sleep(0.002)

    def answers(self, window, patience, isAlive=lambda: True):
        """Whether the program's event loop answers within some seconds: to a text that is held over the window and taken away."""
        source, status = self.source(), self.atom("XdndStatus")
        self.send(window, "XdndEnter", source, 5 << 24, self.atom("text/plain"), 0, 0)
        self.send(window, "XdndPosition", source, 0, 0, 0, self.atom("XdndActionCopy"))
        isThere = any(event.type == CLIENT_MESSAGE and event.message.window == source and event.message.kind == status
                      for event in self.events(patience, isAlive))
        self.send(window, "XdndLeave", source, 0, 0, 0, 0)
        return isThere

    def drop(self, window, x, y, kind, data, isAlive=lambda: True):
        """Drops a text on a window as a file manager does. Gives up after a second without an answer."""
        source, target, selection = self.source(), self.atom(kind), self.atom("XdndSelection")
        self.x.XSetSelectionOwner(self.display, ULONG(selection), ULONG(source), ULONG(0))
        self.send(window, "XdndEnter", source, 5 << 24, target, 0, 0)
        self.send(window, "XdndPosition", source, 0, int(x) << 16 | int(y), 0, self.atom("XdndActionCopy"))
        status, finished, isDropped = self.atom("XdndStatus"), self.atom("XdndFinished"), False
        for event in self.events(1, isAlive):
            if event.type == SELECTION_REQUEST:
                self.give(event.request, data)
            if event.type != CLIENT_MESSAGE or event.message.window != source:
                continue
            if event.message.kind == status and not isDropped:
                if not event.message.data[1] & 1:
                    break
                isDropped = True
                self.send(window, "XdndDrop", source, 0, 0, 0, 0)
            if event.message.kind == finished:
                return True
        self.send(window, "XdndLeave", source, 0, 0, 0, 0)
        return False

    def give(self, request, data):
        self.x.XChangeProperty(self.display, ULONG(request.requestor), ULONG(request.property), ULONG(request.target), 8, 0, data,
                               len(data))
        event = Event()
        event.notice = Notice(type=SELECTION_NOTIFY, display=self.display, requestor=request.requestor, selection=request.selection,
                              target=request.target, property=request.property, time=request.time)
        self.x.XSendEvent(self.display, ULONG(request.requestor), 0, LONG(0), ctypes.byref(event))
        self.x.XFlush(self.display)
