# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that does the work, seen from Blender: started, asked how far it is, stopped."""

import importlib.util
import json
import os
import queue
import subprocess
import sys
import threading
import time

#: How long a process may take to stop by itself before it is ended, in seconds.
PATIENCE = 0.7


class Job:
    """A job in a process of its own. `poll` gives what it said since the last call.

    Frames without a target are read for the sake of their neighbours; with `blend`, neighbours are blended.
    """

    def __init__(self, frames, options, blend=False, python=None):
        self.frames = sum(1 for item in frames if item["target"])
        self.finished = 0
        self.share = 0.0
        self.errors = []
        self.notes = []
        self.ended = False
        self.stopping = None
        self._events = queue.Queue()
        self._words = []
        self._process = subprocess.Popen(
            [python or sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env=environment(),
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._threads = [
            threading.Thread(target=self._listen, daemon=True),
            threading.Thread(target=self._overhear, daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self._tell(json.dumps({"frames": frames, "options": options, "blend": blend}))

    def _listen(self):
        for line in self._process.stdout:
            try:
                self._events.put(json.loads(line))
            except ValueError:
                self._words.append(line)

    def _overhear(self):
        self._words.extend(self._process.stderr)

    def _tell(self, line):
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError:
            # It ended; `poll` finds out why.
            pass

    def poll(self):
        """What happened since the last call; `ended` is true once there is no more to come."""
        # First whether it still runs, then what it said: nothing is missed.
        over = self._process.poll() is not None
        if over:
            for thread in self._threads:
                thread.join(1)
        events = []
        while not self._events.empty():
            events.append(self._events.get())
        for event in events:
            self._note(event)
        if over and not self.ended:
            self.ended = True
            if self.stopping is None:
                said = "".join(self._words[-5:]).strip()
                self.errors.append(f"the process ended with code {self._process.returncode}: {said or 'it said nothing'}")
        if self.stopping is not None and not over and time.monotonic() - self.stopping > PATIENCE:
            self._process.kill()
        return events

    def _note(self, event):
        kind = event["event"]
        if kind == "progress":
            self.share = event["share"]
        elif kind == "note":
            self.notes.append(event["message"])
        elif kind in ("done", "failed"):
            self.finished += 1
            if kind == "failed":
                self.errors.append(f"frame {event['frame']}: {event['message']}")
        elif kind == "end":
            self.ended = True

    @property
    def progress(self):
        """The share that is done, 0 … 1."""
        return 1.0 if self.frames and self.finished == self.frames else self.share

    @property
    def gone(self):
        """Whether the process is over."""
        return self._process.poll() is not None

    def stop(self):
        """Asks the process to stop; `poll` ends it if it does not."""
        if self.stopping is None and not self.gone:
            self.stopping = time.monotonic()
            self._tell("stop")

    def wait(self, step=0.05):
        """Waits to the end, and gives all events: for Blender without windows."""
        events = []
        while not self.ended:
            events += self.poll()
            time.sleep(step)
        return events

    def close(self):
        """Ends the process whatever it does."""
        if not self.gone:
            self._process.kill()
        self._process.wait()


def environment():
    """The variables of the process: it finds the modules that Blender finds."""
    folders = []
    for name in ("limpid", "numpy"):
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.origin:
            raise ModuleNotFoundError(f"the module {name} is not installed")
        folders.append(os.path.dirname(os.path.dirname(spec.origin)))
    variables = dict(os.environ)
    before = [variables["PYTHONPATH"]] if variables.get("PYTHONPATH") else []
    variables["PYTHONPATH"] = os.pathsep.join([*dict.fromkeys(folders), *before])
    return variables
