"""Frames that follow each other: blended with those beside them, whole and in the order of the job."""

import os
import subprocess

import numpy as np
import pytest
from test_parts import FEW, OPTIONS, PASSES, layer

import limpid
from extension import exr, memory, naming, passes, process, shot

COUNT = 8


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    """A render that stands still, with other noise in each frame: all light of a pixel is as much too bright or too dark."""
    folder = tmp_path_factory.mktemp("frames")
    plans = [passes.reading(found) for found in passes.view_layers(exr.channels(PASSES))]
    paths = []
    for n in range(COUNT):
        paths.append(str(folder / f"shot_{n + 1:04}.exr"))
        source = PASSES
        for plan in plans:
            frame = limpid.read(source, plan.layers)
            noise = np.random.default_rng(n).uniform(0.4, 1.6, (*frame["depth"].shape, 1)).astype("float32")
            for name in list(frame):
                if name not in plan.layers:
                    del frame[name]
                elif (name == "color" or name.startswith("light:")) and name not in plan.products.values():
                    frame[name] = frame[name] * noise
            limpid.write(paths[-1], frame)
            source = paths[-1]
    return paths


def items(paths, folder, wanted=None):
    """Jobs for some frames; the others are there for them."""
    targets = {n: str(folder / os.path.basename(path)) for n, path in enumerate(paths, 1)}
    return [{"frame": n, "source": path, "target": targets[n] if not wanted or n in wanted else None} for n, path in enumerate(paths, 1)]


def denoised(jobs, blend=True, **options):
    job = process.Job(jobs, OPTIONS | options, blend)
    return job, job.wait(0.01)


def kinds(events):
    return [(event["event"], event.get("frame")) for event in events if event["event"] != "progress"]


def colors(folder, view="ViewLayer"):
    return np.array([layer(folder / name, f"{view}.Combined") for name in sorted(os.listdir(folder))])


def flicker(images):
    return np.abs(np.diff(images, axis=0)).mean()


@pytest.fixture(scope="module")
def blended(frames, tmp_path_factory):
    folder = tmp_path_factory.mktemp("blended")
    return folder, *denoised(items(frames, folder))


def test_frames_are_blended_with_those_beside_them(frames, blended, tmp_path):
    folder, job, events = blended
    assert not job.errors and job.progress == 1
    assert kinds(events) == [("start", None), *(("done", n) for n in range(1, COUNT + 1)), ("end", None)]
    alone = tmp_path / "alone"
    job, events = denoised(items(frames, alone), blend=False)
    assert kinds(events)[1:-1] == [("done", n) for n in range(1, COUNT + 1)]
    for view in ("ViewLayer", "Back"):
        assert flicker(colors(folder, view)) < 0.75 * flicker(colors(alone, view))
    # The image is that of the program, which takes numbered files as a sequence.
    program = os.environ.get("LIMPID")
    if program:
        words = [program, "denoise", frames[0].replace("0001", "####"), "-o", str(tmp_path / "own_####.exr"), "--quality", "good"]
        subprocess.run([*words, "--device", "cpu", "--quiet"], check=True)
        for n in (1, 5, COUNT):
            found = layer(folder / f"shot_{n:04}.exr", "ViewLayer.Combined")
            np.testing.assert_array_equal(found, layer(tmp_path / f"own_{n:04}.exr", "ViewLayer.Combined"))


def test_passes_of_blended_frames_add_up(frames, blended):
    folder, _, events = blended
    sums = [one for event in events if event["event"] == "done" for one in event["sums"]]
    assert len(sums) == 2 * COUNT and all(after <= 1e-4 for _, after in sums)
    for path in (folder / "shot_0001.exr", folder / "shot_0005.exr"):
        assert exr.channels(path) == exr.channels(PASSES)
        for view in ("ViewLayer", "Back"):
            get = lambda name: layer(path, f"{view}.{name}")  # noqa: B023, E731
            image = get("Combined")
            lobes = [get(f"{lobe} Color") * (get(f"{lobe} Direct") + get(f"{lobe} Indirect")) for lobe in ("Diffuse", "Glossy", "Transmission")]
            total = sum(lobes) + get("Volume Direct") + get("Volume Indirect") + get("Emission")
            groups = get("Combined_key") + get("Combined_fill") - get("Environment")
            for found in (total, groups):
                assert np.abs(found - image).max() <= 1e-4 * max(1, image.max())
        for name in exr.channels(PASSES):
            if name.split(".")[1].startswith(("Crypto", "Denoising", "Vector")):
                np.testing.assert_array_equal(layer(path, name), layer(PASSES, name))


def test_what_is_done_later_is_the_same(frames, blended, tmp_path):
    folder, *_ = blended
    job, events = denoised(items(frames, tmp_path, {4, 5}))
    assert job.frames == 2 and kinds(events)[1:-1] == [("done", 4), ("done", 5)]
    names = sorted(os.listdir(tmp_path))
    assert names == ["shot_0004.exr", "shot_0005.exr"]
    for name in names:
        for channels in ("Combined", "Diffuse Direct", "Combined_key"):
            found = [layer(path / name, f"ViewLayer.{channels}") for path in (folder, tmp_path)]
            np.testing.assert_array_equal(*found)


def test_a_gap_begins_a_new_shot(frames, tmp_path):
    jobs = items(frames, tmp_path / "gap")
    del jobs[4]
    job, events = denoised(jobs)
    assert not job.errors and kinds(events)[1:-1] == [("done", n) for n in (1, 2, 3, 4, 6, 7, 8)]
    job, _ = denoised(items(frames[:4], tmp_path / "first"))
    for n in range(1, 5):
        found = [layer(tmp_path / folder / f"shot_{n:04}.exr", "ViewLayer.Combined") for folder in ("gap", "first")]
        np.testing.assert_array_equal(*found)


def test_a_damaged_frame_hurts_no_other(frames, tmp_path):
    jobs = items(frames, tmp_path)
    bad = tmp_path / "bad.exr"
    with open(frames[2], "rb") as file:
        bad.write_bytes(file.read()[:3000])
    jobs[2]["source"] = str(bad)
    # One that nobody asked for is not missed.
    jobs[5] |= {"source": str(tmp_path / "none.exr"), "target": None}
    # And one cannot be written.
    (tmp_path / "shot_0008.exr").mkdir()
    job, events = denoised(jobs)
    assert kinds(events)[1:-1] == [("done", 1), ("done", 2), ("failed", 3), ("done", 4), ("done", 5), ("done", 7), ("failed", 8)]
    assert [error.split(":")[0] for error in job.errors] == ["frame 3", "frame 8"]


def test_frames_of_other_passes_and_previews_are_not_blended(frames, tmp_path):
    jobs = items(frames[:3], tmp_path / "mixed")
    jobs[1]["source"] = str(FEW)
    job, _ = denoised(jobs)
    assert not job.errors
    folders = {True: tmp_path / "blended", False: tmp_path / "alone"}
    for quality in ("good", "fast"):
        for blend, folder in folders.items():
            job, _ = denoised(items(frames[:3], folder), blend=blend, quality=quality)
            assert not job.errors
        assert (quality == "fast") == np.array_equal(*map(colors, folders.values()))
    # With other passes beside it, a frame is what it is alone.
    denoised(items(frames[:1], tmp_path / "one"))
    found = [layer(tmp_path / folder / "shot_0001.exr", "ViewLayer.Combined") for folder in ("mixed", "one")]
    np.testing.assert_array_equal(*found)
    assert exr.channels(tmp_path / "mixed/shot_0002.exr") == exr.channels(FEW)


def test_what_the_library_refuses_is_denoised_alone(frames, tmp_path):
    """A film that the device gives up: each of its frames still comes."""

    class Weak:
        def __init__(self, **options):
            self.inner = limpid.Denoiser(**options)
            self.count = 0

        def push(self, frame, progress):
            self.count += 1
            if self.count == 3:
                raise limpid.DeviceError("no memory")
            return self.inner.push(frame, progress=progress)

        def finish(self, progress):
            return self.inner.finish(progress=progress)

    class Library:
        Denoiser = Weak

        def __getattr__(self, name):
            return getattr(limpid, name)

    done, failed = [], []
    made = shot.Shot(Library(), OPTIONS, True, lambda item, sums: done.append((item["frame"], sums)), lambda *one: failed.append(one))
    for item in items(frames[:5], tmp_path):
        made.take(item, lambda share: None)
    made.finish(lambda share: None)
    assert [n for n, _ in done] == [1, 2, 3, 4, 5] and not failed
    assert all(after <= 1e-4 for _, sums in done for _, after in sums)


def test_frames_that_do_not_fit_are_denoised_one_by_one(frames, tmp_path, monkeypatch):
    assert memory.total() > 2**28
    monkeypatch.setattr(memory, "total", lambda: 2**20)
    done, notes = [], []
    made = shot.Shot(limpid, OPTIONS, True, lambda item, sums: done.append(item["frame"]), pytest.fail, notes.append)
    for item in items(frames[:3], tmp_path / "few"):
        made.take(item, lambda share: None)
    made.finish(lambda share: None)
    denoised(items(frames[:3], tmp_path / "alone"), blend=False)
    assert done == [1, 2, 3] and len(notes) == 1 and "one by one" in notes[0]
    np.testing.assert_array_equal(colors(tmp_path / "few"), colors(tmp_path / "alone"))
    # Nearly what the library keeps of seven frames: motion and features, and colour and light, noisy and denoised.
    frame = made._read(items(frames, tmp_path)[0])[1][0].frame
    kept = 4 * 20 * 15 * 7 * (15 + 6 * sum(name.startswith("light:") for name in frame))
    assert kept < memory.needed(frame) < 2 * kept


def test_a_blended_job_stops_within_a_second(frames, tmp_path):
    import time

    sources = {n: frames[n % COUNT] for n in range(1, 400)}
    jobs = [{"frame": n, "source": path, "target": str(tmp_path / f"{n}.exr")} for n, path in sources.items()]
    job = process.Job(jobs, OPTIONS, True)
    while not (job.finished or job.ended):
        job.poll()
        time.sleep(0.01)
    begin = time.monotonic()
    job.stop()
    while not (job.ended and job.gone):
        job.poll()
        time.sleep(0.01)
    # A second, and as much again for a busy machine.
    assert time.monotonic() - begin < 2
    assert not job.errors and 0 < job.finished < 399
    assert all(exr.channels(path) == exr.channels(PASSES) for path in tmp_path.glob("[0-9]*.exr"))


def test_neighbours_of_what_is_left_are_read(tmp_path):
    sources = {n: str(tmp_path / f"{n}.exr") for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13)}
    for path in sources.values():
        open(path, "wb").close()
    results = tmp_path / "results"
    results.mkdir()
    for n in sources:
        if n not in (2, 12):
            (results / f"{n}.exr").write_bytes(b"")
    todo, missing = naming.jobs(sources, str(results), keep=True)
    assert [(item["frame"], item["target"] is not None) for item in todo] == [
        (1, False), (2, True), (3, False), (4, False), (5, False), (12, True), (13, False),
    ]
    assert not missing
    todo, _ = naming.jobs(sources, str(results), keep=False)
    assert all(item["target"] for item in todo) and len(todo) == len(sources)
