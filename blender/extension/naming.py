# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of files: which frames are read, and where their results go."""

import os
import re

#: How many frames on each side a result may be blended with.
REACH = 3


def numbered(pattern, frame):
    """The name of a frame: `shot_####.exr` → `shot_0007.exr`. Without `#`, four digits come before the extension, as Blender adds them."""
    base, ext = os.path.splitext(pattern)
    folder, name = os.path.split(base)
    marks = list(re.finditer("#+", name))
    if not marks:
        return f"{base}{frame:04}{ext}"
    last = marks[-1]
    digits = f"{frame:0{len(last.group())}}"
    return os.path.join(folder, name[: last.start()] + digits + name[last.end() :]) + ext


def ranges(frames):
    """Numbers of frames for people: `1–3, 7`."""
    parts = []
    for frame in sorted(frames):
        if parts and frame == parts[-1][1] + 1:
            parts[-1][1] = frame
        else:
            parts.append([frame, frame])
    return ", ".join(f"{a}" if a == b else f"{a}–{b}" for a, b in parts)


def jobs(sources, folder, keep):
    """What is to be done: frames with their source and target. Results have the names of their sources; none replaces a source.

    `keep` leaves out results that are newer than their sources; frames near those that are left have no target. Gives the jobs, and the
    frames whose sources are not there.
    """
    todo, missing = {}, []
    for frame, source in sources.items():
        target = os.path.join(folder, os.path.basename(source))
        if not os.path.exists(source):
            missing.append(frame)
        elif os.path.exists(target) and os.path.samefile(source, target):
            raise ValueError(f"{target} would replace the render; choose another folder")
        elif not (keep and os.path.exists(target) and os.path.getmtime(target) >= os.path.getmtime(source)):
            todo[frame] = target
    beside = {near for frame in todo for near in neighbours(frame, sources)}
    frames = [frame for frame in sources if frame in todo or frame in beside and frame not in missing]
    return [{"frame": frame, "source": sources[frame], "target": todo.get(frame)} for frame in frames], missing


def neighbours(frame, sources):
    """The frames before and after one, as far as none is missing in between."""
    for step in (-1, 1):
        for distance in range(1, REACH + 1):
            if frame + step * distance not in sources:
                break
            yield frame + step * distance
