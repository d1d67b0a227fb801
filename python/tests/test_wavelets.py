"""limpid.wavelets against PyWavelets: the same numbers, and its own tests."""

import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml

import numpy as np
import pytest

import limpid
import limpid.wavelets as ours

pywt = pytest.importorskip("pywt")

#: PyWavelets' files whose tests name the functions that are here.
FILES = ["test_multidim.py", "test_multilevel.py", "test_swt.py", "test_dwt_idwt.py", "test_modes.py", "test_concurrent.py"]
TWO = re.compile(r"\b(i?dwt2|i?swt2|wavedec2|waverec2)\b")
HERE = pathlib.Path(__file__).parent


def test_names_and_filters_are_pywavelets():
    assert ours.wavelist(kind="discrete") == pywt.wavelist(kind="discrete")
    assert ours.Modes.modes == pywt.Modes.modes
    facts = ("family_name", "short_family_name", "orthogonal", "biorthogonal", "symmetry", "dec_len", "rec_len")
    facts += ("vanishing_moments_psi", "vanishing_moments_phi", "name")
    for name in ours.wavelist():
        mine, theirs = ours.Wavelet(name), pywt.Wavelet(name)
        for fact in facts:
            assert getattr(mine, fact) == getattr(theirs, fact), (name, fact)
        np.testing.assert_allclose(mine.filter_bank, theirs.filter_bank, rtol=0, atol=1e-15)
        np.testing.assert_allclose(mine.inverse_filter_bank, theirs.inverse_filter_bank, rtol=0, atol=1e-15)
    assert pickle.loads(pickle.dumps(ours.Wavelet("db3"))) == ours.Wavelet("db3")


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (6, 1), (5, 3), (33, 40), (64, 65), (200, 300)])
def test_numbers_are_pywavelets(kind, shape):
    x = np.random.default_rng(2).standard_normal(shape).astype(kind)
    tolerance = 1e-13 if kind == "float64" else 1e-5
    for name in ("haar", "db2", "db5", "bior4.4", "rbio3.1", "sym8", "dmey"):
        for mode in ours.Modes.modes:
            if 1 in shape and "reflect" in mode:
                with pytest.raises(ValueError):
                    ours.dwt2(x, name, mode)
                continue
            theirs = pywt.dwt2(x, name, mode)
            mine = ours.dwt2(x, name, mode)
            scale = max(abs(b).max() for b in (theirs[0], *theirs[1]))
            for a, b in zip((mine[0], *mine[1]), (theirs[0], *theirs[1])):
                assert a.shape == b.shape and a.dtype == b.dtype
                np.testing.assert_allclose(a, b, rtol=0, atol=scale * tolerance, err_msg=f"{name} {mode}")
            back = ours.idwt2(theirs, name, mode)
            expected = pywt.idwt2(theirs, name, mode)
            assert back.shape == expected.shape and back.dtype == expected.dtype
            np.testing.assert_allclose(back, expected, rtol=0, atol=scale * 10 * tolerance, err_msg=f"{name} {mode}")


@pytest.mark.filterwarnings("ignore:Level value")
@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (0, 2), (-1, 0)])
def test_axes_levels_and_undecimated(axes):
    x = np.random.default_rng(3).standard_normal((24, 32, 16))
    mine, theirs = ours.wavedec2(x, ("db2", "sym3"), level=2, axes=axes), pywt.wavedec2(x, ("db2", "sym3"), level=2, axes=axes)
    np.testing.assert_allclose(mine[0], theirs[0], atol=1e-12)
    for a, b in zip(mine[1:], theirs[1:]):
        np.testing.assert_allclose(a, b, atol=1e-12)
    np.testing.assert_allclose(ours.waverec2(theirs, ("db2", "sym3"), axes=axes), x, atol=1e-10)
    for norm in (False, True):
        mine, theirs = (w.swt2(x, "db3", 2, axes=axes, norm=norm) for w in (ours, pywt))
        for (a, ds), (b, es) in zip(mine, theirs):
            np.testing.assert_allclose(a, b, atol=1e-12)
            np.testing.assert_allclose(ds, es, atol=1e-12)
        np.testing.assert_allclose(ours.iswt2(theirs, "db3", norm=norm, axes=axes), x, atol=1e-10)


def test_large_pictures_use_all_threads_and_agree():
    x = np.random.default_rng(4).standard_normal((1030, 770)).astype("float32")
    mine, theirs = ours.wavedec2(x, "db4", "periodization"), pywt.wavedec2(x, "db4", "periodization")
    np.testing.assert_allclose(mine[0], theirs[0], atol=2e-4)
    np.testing.assert_allclose(mine[-1], theirs[-1], atol=2e-5)
    np.testing.assert_allclose(ours.waverec2(mine, "db4", "periodization")[:1030, :770], x, atol=2e-5)


def test_packing_is_pywavelets():
    coeffs = pywt.wavedec2(np.random.default_rng(5).random((37, 50)), "db2", level=3)
    mine, slices = ours.coeffs_to_array(coeffs)
    theirs, expected = pywt.coeffs_to_array(coeffs)
    np.testing.assert_array_equal(mine, theirs)
    for a, b in zip(slices[1:], expected[1:]):
        assert {k: v for k, v in a.items()} == b
    for mode in ("soft", "hard", "garrote", "greater", "less"):
        np.testing.assert_allclose(ours.threshold(mine, 0.3, mode), pywt.threshold(mine, 0.3, mode), atol=1e-14)


def test_wrong_input_is_told():
    with pytest.raises(ValueError, match="Did you mean 'db38'|Unknown wavelet name"):
        ours.dwt2(np.ones((4, 4)), "db39")
    with pytest.raises(ValueError, match="Unknown mode name"):
        ours.dwt2(np.ones((4, 4)), "haar", "mirrored")
    with pytest.raises(ValueError):
        ours.dwt2(np.ones((0, 4)), "haar")
    with pytest.raises(TypeError):
        ours.dwt2(np.array([["a"]]), "haar")
    with pytest.raises(ValueError):
        ours.idwt2((None, (None, None, None)), "haar")
    with pytest.raises(ValueError):
        ours.Wavelet("mine", [[1.0]] * 4)
    with pytest.raises(ValueError):
        ours.swt2(np.ones((6, 6)), "haar", level=2)
    assert issubclass(limpid.InputError, ValueError)


def _tests(path):
    """Names of a file's tests, and whether they concern pictures."""
    source = path.read_text()
    parts = re.split(r"^(?=(?:@.*\n)*def )", source, flags=re.M)
    found = {}
    for part in parts:
        name = re.search(r"^def (test_\w+)", part, flags=re.M)
        if name:
            found[name[1]] = bool(TWO.search(part))
    return found


def test_pywavelets_own_tests(tmp_path, capsys):
    tests = pathlib.Path(pywt.__file__).parent / "tests"
    if not tests.is_dir():
        pytest.fail("PyWavelets was installed without its tests")
    concerns = {}
    for name in FILES:
        shutil.copy(tests / name, tmp_path)
        concerns[name[:-3]] = _tests(tests / name)
    report = tmp_path / "report.xml"
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(HERE), str(pathlib.Path(limpid.__file__).parent.parent)]))
    command = [sys.executable, "-m", "pytest", "-q", "--noconftest", "-p", "pywt_shim", "-p", "no:cacheprovider"]
    command += ["-W", "ignore", "--rootdir", str(tmp_path), f"--junitxml={report}", *FILES]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=550)
    assert report.exists(), done.stdout + done.stderr
    counts = {True: [0, 0], False: [0, 0]}
    failed = []
    for case in xml.parse(report).iter("testcase"):
        file, name = case.get("classname").split(".")[-1], case.get("name").split("[")[0]
        about_two = concerns[file][name]
        passed = case.find("failure") is None and case.find("error") is None
        counts[about_two][0] += passed
        counts[about_two][1] += 1
        if not passed:
            failed.append((about_two, f"{file}::{name}"))
    with capsys.disabled():
        (two, of_two), (rest, of_rest) = counts[True], counts[False]
        print(f"\nPyWavelets {pywt.__version__}'s own tests: {two} of {of_two} about pictures pass, {rest} of {of_rest} others")
        for about_two, name in failed:
            print(f"  fails{' (pictures)' if about_two else ''}: {name}")
    assert counts[True][1] > 30
    assert not [name for about_two, name in failed if about_two], done.stdout[-6000:]
    assert counts[False][0] >= 0.85 * counts[False][1]
