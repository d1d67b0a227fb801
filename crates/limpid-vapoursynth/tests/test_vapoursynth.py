"""The plugin in VapourSynth: any order, all formats, the same pixels as the program, and what it refuses."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
import vapoursynth as vs

core = vs.core
SIZE = (96, 64)
COUNT = 30


def noisy(format, count=COUNT, size=SIZE, deviation=0.05):
    """A clip that moves slowly, with noise that depends on the number of the frame, and the same clip without noise."""
    blank = core.std.BlankClip(width=size[0], height=size[1], format=format, length=count, keep=False)
    form = blank.format

    def drawn(n, f, deviation):
        out = f.copy()
        random = np.random.default_rng(n)
        for c in range(form.num_planes):
            plane = np.asarray(out[c])
            y, x = np.mgrid[: plane.shape[0], : plane.shape[1]].astype(float)
            x, y = x * size[0] / plane.shape[1] + 0.8 * n, y * size[1] / plane.shape[0]
            value = 0.5 + 0.2 * np.sin(0.2 * x + 0.1 * y + c) + 0.1 * np.sin(0.15 * y)
            if form.color_family == vs.YUV:
                value = 0.1 + 0.8 * value if c == 0 else 0.3 * (value - 0.5) + 0.5
            value = value + random.normal(0, deviation, plane.shape)
            if form.sample_type == vs.FLOAT:
                value -= 0.5 if c > 0 and form.color_family == vs.YUV else 0
            else:
                value = np.clip(np.round(value * (2**form.bits_per_sample - 1)), 0, 2**form.bits_per_sample - 1)
            plane[:] = value.astype(plane.dtype)
        return out

    made = lambda deviation: core.std.ModifyFrame(blank, blank, lambda n, f: drawn(n, f, deviation))
    return made(deviation), made(0)


def planes(clip, n):
    with clip.get_frame(n) as frame:
        return [np.array(frame[c]) for c in range(frame.format.num_planes)]


def same(a, b):
    return all(np.array_equal(p, q) for p, q in zip(a, b, strict=True))


def test_any_order_gives_the_same_pixels():
    clip, _ = noisy(vs.YUV420P8)
    film = core.limpid.Film(clip, device="cpu")
    in_order = [planes(film, n) for n in range(COUNT)]
    for n in (29, 3, 5, 4, 28, 24, 23, 0, 12, 11, 25):
        assert same(planes(core.limpid.Film(clip, device="cpu"), n), in_order[n]), n
        assert same(planes(film, n), in_order[n]), n
    # Many at a time, as vspipe asks.
    for n, frame in enumerate(core.limpid.Film(clip, device="cpu").frames(prefetch=8)):
        assert same([np.array(frame[c]) for c in range(3)], in_order[n]), n
    still = core.limpid.Denoise(clip, device="cpu")
    assert same(planes(still, 7), planes(core.limpid.Denoise(clip[7], device="cpu"), 0))


FORMATS = [vs.GRAY8, vs.GRAY10, vs.GRAY16, vs.GRAYH, vs.GRAYS, vs.YUV420P8, vs.YUV420P10, vs.YUV420P16, vs.YUV422P8, vs.YUV422P10]
FORMATS += [vs.YUV422P12, vs.YUV444P8, vs.YUV444P9, vs.YUV444P14, vs.YUV444P16, vs.YUV420PH, vs.YUV422PS, vs.YUV444PS, vs.YUV420PS]
FORMATS += [vs.YUV411P8, vs.RGB24, vs.RGB30, vs.RGB48, vs.RGBH, vs.RGBS]


@pytest.mark.parametrize("name", ["Film", "Denoise"])
@pytest.mark.parametrize("format", FORMATS, ids=lambda f: f.name)
def test_formats(format, name):
    clip, clean = noisy(format, 5)
    clip = clip.std.SetFrameProps(_Matrix=0 if clip.format.color_family == vs.RGB else 1, tried=7)
    made = getattr(core.limpid, name)(clip, device="cpu")
    assert made.format.id == clip.format.id and made.num_frames == 5
    assert made.get_frame(2).props["tried"] == 7
    for c, (before, after, wanted) in enumerate(zip(planes(clip, 2), planes(made, 2), planes(clean, 2))):
        error = lambda plane: float(np.sqrt(np.mean((plane.astype(float) - wanted.astype(float)) ** 2)))
        assert error(after) < 0.75 * error(before), (c, error(before), error(after))


def test_the_pixels_are_those_of_the_program(tmp_path):
    for format, form, more in ((vs.YUV420P8, "420jpeg", ""), (vs.YUV422P10, "422p10", " XCOLORRANGE=FULL")):
        clip, _ = noisy(format, 9)
        with open(tmp_path / "a.y4m", "wb") as file:
            file.write(f"YUV4MPEG2 W{SIZE[0]} H{SIZE[1]} F25:1 C{form}{more}\n".encode())
            for n in range(9):
                file.write(b"FRAME\n" + b"".join(p.tobytes() for p in planes(clip, n)))
        command = [os.environ["LIMPID"], "denoise", "a.y4m", "-o", "b.y4m", "--device", "cpu", "--quiet"]
        subprocess.run(command, check=True, cwd=tmp_path)
        for name in ("_Range", "_ColorRange"):
            full = int(bool(more))
            clip_told = clip.std.SetFrameProps(**{name: full if name == "_Range" else 1 - full})
            film = core.limpid.Film(clip_told, device="cpu")
            want = b"".join(b"FRAME\n" + b"".join(p.tobytes() for p in planes(film, n)) for n in range(9))
            got = (tmp_path / "b.y4m").read_bytes()
            assert got[got.index(b"\n") + 1 :] == want, (format.name, name)


def test_what_is_refused():
    clip, _ = noisy(vs.YUV420P8, 3)
    for call, part in (
        (lambda: core.limpid.Film(clip, merge=4), "merge"),
        (lambda: core.limpid.Film(clip, quality="superb"), "quality"),
        (lambda: core.limpid.Film(clip, device="tpu"), "tpu"),
        (lambda: core.limpid.Film(clip, threads=0), "threads"),
        (lambda: core.limpid.Film(clip, strength=2), "strength"),
        (lambda: core.limpid.Denoise(clip, method="film"), "limpid.Film"),
        (lambda: core.limpid.Denoise(clip, method="nothing"), "nothing"),
        (lambda: core.limpid.Film(core.std.BlankClip(format=vs.GRAY32)), "32 bits"),
        (lambda: core.limpid.Film(core.std.BlankClip(format=vs.YUV440P8)), "chroma sampling"),
        (lambda: core.limpid.Film(core.std.BlankClip(varsize=True)), "size changes"),
    ):
        with pytest.raises(vs.Error, match=part):
            call()
    fields = core.limpid.Film(clip.std.SetFrameProps(_FieldBased=2), device="cpu")
    with pytest.raises(vs.Error, match="SeparateFields"):
        fields.get_frame(0)
    # Separated, they are filtered.
    apart = clip.std.SeparateFields(tff=True)
    even, odd = (core.limpid.Film(apart[i::2], device="cpu") for i in (0, 1))
    woven = core.std.DoubleWeave(core.std.Interleave([even, odd]), tff=True)[::2]
    assert woven.num_frames == 3 and woven.get_frame(1).height == SIZE[1]


def test_vspipe(tmp_path):
    source = os.path.abspath(__file__)
    script = (
        f"import sys\nsys.path.insert(0, {os.path.dirname(source)!r})\nimport vapoursynth as vs\n"
        "from test_vapoursynth import noisy\n"
        "vs.core.limpid.Film(noisy(vs.YUV420P8)[0], device='cpu').set_output()\n"
    )
    (tmp_path / "film.vpy").write_text(script)
    vspipe = os.path.join(os.path.dirname(sys.executable), "vspipe")
    env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-m", "vapoursynth", "config"], check=True, env=env, capture_output=True)
    made = subprocess.run([vspipe, "-c", "y4m", "film.vpy", "-"], check=True, cwd=tmp_path, env=env, capture_output=True).stdout
    film = core.limpid.Film(noisy(vs.YUV420P8)[0], device="cpu")
    want = b"".join(b"FRAME\n" + b"".join(p.tobytes() for p in planes(film, n)) for n in range(COUNT))
    assert made[made.index(b"\n") + 1 :] == want


def blocks(kind):
    """The fenced blocks of the guide."""
    path = os.path.join(os.environ["LIMPID_SOURCE"], "docs/vapoursynth.md")
    with open(path, encoding="utf-8") as file:
        return re.findall(rf"^```{kind}\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)


def test_the_scripts_of_the_guide(tmp_path):
    scripts = blocks("python")
    assert len(scripts) == 3
    for script in scripts[::2]:
        exec(compile(script, "guide", "exec"), {})
    # The recipe with ffmpeg: a film goes through vspipe to another, with its sound.
    if os.environ.get("LIMPID_FFMPEG") == "none":
        return
    ffmpeg = ["ffmpeg", "-hide_banner", "-v", "error", "-y"]
    source = ["-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=0.4,noise=alls=12:allf=t", "-f", "lavfi", "-i", "sine=d=0.4"]
    subprocess.run([*ffmpeg, *source, "-c:v", "ffv1", "clip.mkv"], check=True, cwd=tmp_path)
    (tmp_path / "film.vpy").write_text(scripts[1])
    line = next(block for block in blocks("sh") if block.startswith("vspipe"))
    folder = os.path.dirname(sys.executable)
    env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "PATH": folder + os.pathsep + os.environ["PATH"]}
    subprocess.run([sys.executable, "-m", "vapoursynth", "config"], check=True, env=env, capture_output=True)
    subprocess.run(["bash", "-e", "-o", "pipefail", "-c", line], check=True, cwd=tmp_path, env=env, capture_output=True)
    probe = ["ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=codec_name,nb_read_frames", "-of", "csv=p=0", "clean.mkv"]
    told = subprocess.run(probe, check=True, cwd=tmp_path, capture_output=True, text=True).stdout.split()
    assert told[0] == "h264,10" and len(told) == 2, told
