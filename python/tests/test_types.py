"""The types of the package hold: a type checker agrees with it, and the stubs with the compiled part."""

import os
import pathlib
import subprocess
import sys

import pytest

import limpid

MODULE = pathlib.Path(limpid.__file__).parents[1]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """What the checker found out about NumPy is used again."""
    return tmp_path_factory.mktemp("mypy")


def checked(cache, *arguments):
    out = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=MODULE,
        env=os.environ | {"MYPY_CACHE_DIR": str(cache), "PYTHONPATH": str(MODULE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert out.returncode == 0, out.stdout + out.stderr


def test_a_type_checker_agrees(cache, tmp_path):
    use = tmp_path / "use.py"
    use.write_text(
        "import numpy as np\n"
        "import limpid\n"
        "frame: limpid.Frame = limpid.read('render.exr')\n"
        "limpid.write('clean.exr', limpid.denoise(frame, quality='best'))\n"
        "score: float = limpid.compare(frame, np.zeros((2, 2, 3)))['relmse']\n"
    )
    checked(cache, "mypy", "limpid", str(use))


def test_the_stubs_are_those_of_the_compiled_part(cache):
    checked(cache, "mypy.stubtest", "limpid._limpid", "--ignore-missing-stub")
