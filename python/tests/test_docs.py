"""The Python of the pages runs."""

import importlib.util
import os
import pathlib
import re

import pytest

import limpid

SOURCE = pathlib.Path(os.environ.get("LIMPID_SOURCE", pathlib.Path(__file__).parents[2]))


def is_there(needs):
    return len(limpid.devices()) > 1 if needs == "gpu" else importlib.util.find_spec(needs)


@pytest.mark.parametrize("page", ["docs/python.md", "README.md", "python/README.md"])
def test_pages_run(page, tmp_path, monkeypatch):
    path = SOURCE / page
    if not path.exists():
        pytest.fail(f"{path} is not there; set LIMPID_SOURCE to the repository")
    # What a block needs that is not there everywhere stands behind its language: a module, or a GPU.
    found = re.findall(r"^```python(?:,(\w+))?\n(.*?)^```", path.read_text(), flags=re.M | re.S)
    blocks = [block for needs, block in found if not needs or is_there(needs)]
    assert blocks, f"{page} has no Python"
    monkeypatch.chdir(tmp_path)
    frame = limpid.render("cornell", size=(64, 48), spp=4)
    limpid.write("render.exr", frame)
    limpid.write("photo.png", limpid.render("outdoor", size=(96, 64), spp=4))
    names = {name: frame[name] for name in ("color", "albedo", "normal", "depth")} if "README" in page else {}
    for block in blocks:
        exec(compile(block, str(path), "exec"), names)
