# SPDX-License-Identifier: GPL-3.0-or-later
"""Denoises files, in a process of its own.

Standard input is one line with the job as JSON, then lines that may say `stop`; the end of standard input stops the work too. Standard
output is one JSON object per line: `start`, `progress`, `note`, `done`, `failed`, `end`.
"""

import json
import os
import sys
import threading
import time

# As a program this file has no package; its neighbours are found beside it.
if __package__:
    from .shot import Shot
else:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from shot import Shot

#: Least time between two lines on progress, in seconds.
EVERY = 0.1


class Stopped(Exception):
    """Somebody wants no more."""


class Teller:
    """Says how far the work is, and ends it when it should stop."""

    def __init__(self, say, stop, count):
        self.say, self.stop, self.count, self.last = say, stop, count, 0.0

    def __call__(self, i, share):
        if self.stop.is_set():
            raise Stopped
        now = time.monotonic()
        if now - self.last >= EVERY:
            self.last = now
            self.say(event="progress", share=min(1.0, (i + share) / max(1, self.count)))


def work(job, say, stop):
    """Works through a job; what goes wrong with a frame is said, and the next one follows. Gives how many failed."""
    import limpid

    say(event="start", version=limpid.__version__, device=limpid.device(job["options"].get("device", "auto")).name)
    items = job["frames"]
    tell = Teller(say, stop, len(items))
    done, failed = [], []
    begin = time.monotonic()

    def completed(item, sums):
        seconds = time.monotonic() - begin - sum(done)
        done.append(seconds)
        say(event="done", frame=item["frame"], target=item["target"], seconds=seconds, sums=sums)

    def fail(item, error):
        # A frame that is there for its neighbours only is not missed.
        if item["target"]:
            failed.append(item["frame"])
            say(event="failed", frame=item["frame"], message=str(error) or type(error).__name__)

    def note(message):
        say(event="note", message=message)

    shot = Shot(limpid, job["options"], job.get("blend", False), completed, fail, note)
    try:
        for i, item in enumerate(items):
            tell(i, 0.0)
            shot.take(item, lambda share, i=i: tell(i, share))
        shot.finish(lambda _: tell(len(items), 0.0))
    except Stopped:
        pass
    say(event="end", done=len(done), failed=len(failed), stopped=stop.is_set())
    return len(failed)


def listen(stop):
    """Waits for `stop`, or for the end of the one who would say it."""
    for line in sys.stdin:
        if line.strip() == "stop":
            break
    stop.set()


def main():
    # Libraries that print do not garble the protocol.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lock = threading.Lock()

    def say(**what):
        with lock:
            out.write(json.dumps(what) + "\n")
            out.flush()

    job = json.loads(sys.stdin.readline())
    stop = threading.Event()
    threading.Thread(target=listen, args=(stop,), daemon=True).start()
    failed = work(job, say, stop)
    out.flush()
    # Not waiting for the thread that listens.
    os._exit(1 if failed else 0)


if __name__ == "__main__":
    main()
