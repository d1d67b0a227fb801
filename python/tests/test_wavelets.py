"""limpid.wavelets against PyWavelets: the same numbers, and its own tests."""

import copy
import gc
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import weakref
import xml.etree.ElementTree as xml

import numpy as np
import pytest

import limpid
import limpid.wavelets as ours

pywt = pytest.importorskip("pywt")

HERE = pathlib.Path(__file__).parent


def test_names_and_filters_are_pywavelets():
    for kind in ("all", "discrete", "continuous"):
        assert ours.wavelist(kind=kind) == pywt.wavelist(kind=kind)
    assert ours.families(False) == pywt.families(False)
    assert ours.Modes.modes == pywt.Modes.modes
    facts = ("family_name", "short_family_name", "orthogonal", "biorthogonal", "symmetry", "dec_len", "rec_len")
    facts += ("vanishing_moments_psi", "vanishing_moments_phi", "name")
    for name in ours.wavelist(kind="discrete"):
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


def test_every_name_is_there():
    public = {name for name in dir(pywt) if not name.startswith("_")} - {"test", "version"}
    assert public <= set(ours.__all__)
    for name in ours.__all__:
        assert getattr(ours, name) is not None


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_functions_of_wavelets_are_pywavelets():
    for name in pywt.wavelist():
        mine, theirs = ours.DiscreteContinuousWavelet(name), pywt.DiscreteContinuousWavelet(name)
        for a, b in zip(mine.wavefun(6), theirs.wavefun(6), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9, err_msg=name)
        assert abs(ours.central_frequency(name) - pywt.central_frequency(name)) < 1e-9, name
        for a, b in zip(ours.integrate_wavelet(name), pywt.integrate_wavelet(name), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("method", ["conv", "fft", "auto"])
@pytest.mark.parametrize("wavelet", ["morl", "cmor1.5-1.0", "gaus3"])
def test_continuous_transforms_are_pywavelets(wavelet, method):
    x = np.random.default_rng(6).standard_normal((2, 700))
    scales = [1, 2.5, 7, 40]
    mine, theirs = ours.cwt(x, scales, wavelet, 0.1, method), pywt.cwt(x, scales, wavelet, 0.1, "conv")
    np.testing.assert_allclose(mine[0], theirs[0], atol=1e-11)
    np.testing.assert_allclose(mine[1], theirs[1], rtol=1e-12)


@pytest.mark.filterwarnings("ignore:Level value")
@pytest.mark.parametrize("mode", ours.Modes.modes)
def test_long_and_short_lines_are_pywavelets(mode):
    for n in (4, 9, 2500, 40001):
        x = np.random.default_rng(7).standard_normal(n)
        for name in ("haar", "db4", "dmey"):
            for mine, theirs in zip(ours.wavedec(x, name, mode, level=2), pywt.wavedec(x, name, mode, level=2), strict=True):
                np.testing.assert_allclose(mine, theirs, atol=1e-11, err_msg=f"{name} {n}")
            theirs = pywt.wavedec(x, name, mode, level=2)
            np.testing.assert_allclose(ours.waverec(theirs, name, mode), pywt.waverec(theirs, name, mode), atol=1e-10)


def test_packets_are_pywavelets():
    x = np.random.default_rng(8).standard_normal((50, 61))
    mine, theirs = ours.WaveletPacket2D(x, "db2", "symmetric", 3), pywt.WaveletPacket2D(x, "db2", "symmetric", 3)
    for a, b in zip(mine.get_level(3), theirs.get_level(3), strict=True):
        assert a.path == b.path
        np.testing.assert_allclose(a.data, b.data, atol=1e-12)
    for tree in (mine, theirs):
        for node in tree.get_level(3)[5::7]:
            node.data = node.data * 0.5
    np.testing.assert_allclose(mine.reconstruct(False), theirs.reconstruct(False), atol=1e-11)
    del mine["ah"], theirs["ah"]
    np.testing.assert_allclose(mine.reconstruct(False), theirs.reconstruct(False), atol=1e-11)


@pytest.mark.parametrize(("kind", "shape"), [("WaveletPacket", 64), ("WaveletPacket2D", (64, 48))])
def test_memory_of_packets_is_free_at_once(kind, shape):
    x = np.random.default_rng(9).standard_normal(shape)
    gc.disable()
    try:
        tree = getattr(ours, kind)(x, "db2", "symmetric", 2)
        nodes = tree.get_level(2)
        root, memory = weakref.ref(tree), weakref.ref(nodes[0].data.base)
        kept = nodes[-1]
        del tree, nodes
        assert root() is not None and kept.parent.parent is root()
        del kept
        assert root() is None and memory() is None
    finally:
        gc.enable()


def test_nodes_of_packets_are_those_of_the_tree():
    x = np.random.default_rng(10).standard_normal((32, 32))
    tree = ours.WaveletPacket2D(x, "db2", "symmetric", 3)
    nodes = tree.get_level(2)
    assert tree["aa"] is nodes[0] and nodes[0].parent is tree["a"] and tree["a"].parent is tree
    # Nodes share one block of memory; what is written to one is in the tree, and nowhere else.
    before = [node.data.copy() for node in nodes]
    nodes[5].data[:] = 7
    assert (tree[nodes[5].path].data == 7).all()
    assert all((node.data == old).all() for node, old in zip(nodes, before) if node is not nodes[5])
    for again in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        np.testing.assert_array_equal(again.reconstruct(False), tree.reconstruct(False))
        again["ad"].data[:] = 0
        assert tree["ad"].data.any()


def test_pywavelets_own_tests(tmp_path, capsys):
    tests = pathlib.Path(pywt.__file__).parent / "tests"
    if not tests.is_dir():
        pytest.fail("PyWavelets was installed without its tests")
    shutil.copytree(tests, tmp_path / "tests")
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(HERE), str(pathlib.Path(limpid.__file__).parent.parent)]))
    command = [sys.executable, "-m", "pytest", "-q", "--noconftest", "-p", "pywt_shim", "-p", "no:cacheprovider"]
    command += ["-W", "ignore", "--rootdir", str(tmp_path)]
    # Two files take as long as all others. What the runs say goes into files: a full pipe would stop them.
    long = ["tests/test_swt.py", "tests/test_perfect_reconstruction.py"]
    parts = {"long": long, "rest": ["tests", *(f"--ignore={file}" for file in long)]}
    runs = []
    for name, part in parts.items():
        with open(tmp_path / f"{name}.txt", "w") as out:
            runs.append(subprocess.Popen([*command, f"--junitxml={name}.xml", *part], cwd=tmp_path, env=environment, stdout=out))
    try:
        for run in runs:
            run.wait(timeout=1500)
    finally:
        for run in runs:
            run.kill()
    said = "".join((tmp_path / f"{name}.txt").read_text()[-4000:] for name in parts)
    cases = []
    for name in parts:
        assert (tmp_path / f"{name}.xml").exists(), said
        cases += xml.parse(tmp_path / f"{name}.xml").iter("testcase")
    failed = [case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None]
    # Two tests ask a Matlab that runs.
    left_out = [case.get("name") for case in cases if case.find("skipped") is not None]
    with capsys.disabled():
        passed = len(cases) - len(failed) - len(left_out)
        print(f"\nPyWavelets {pywt.__version__}'s own tests: {passed} of {len(cases) - len(left_out)} pass; without Matlab: {', '.join(left_out)}")
    assert len(cases) > 1000
    assert not failed, said
    assert all("pymatbridge" in name for name in left_out)
