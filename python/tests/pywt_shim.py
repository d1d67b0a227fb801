"""A pytest plugin: `import pywt` gives limpid.wavelets, and nothing of PyWavelets but what only its tests use."""

import sys
import types


def swt_axis(data, wavelet, level, start_level, axis=0):
    """A function inside PyWavelets, of which its tests only want that it refuses wrong levels."""
    import limpid.wavelets as ours

    if level < 1:
        raise ValueError("Level value must be greater than zero.")
    return ours.swt(data, wavelet, level, start_level, axis)


def module(name, **contents):
    """A module of this name with these contents."""
    made = types.ModuleType(name)
    made.__dict__.update(contents)
    sys.modules[name] = made
    return made


def pytest_configure(config):
    """Before tests are collected."""
    import pywt._pytest as theirs

    import limpid.wavelets as ours
    import limpid.wavelets._single as single

    for name in [name for name in sys.modules if name.split(".")[0] == "pywt"]:
        del sys.modules[name]
    sys.modules["pywt"] = sys.modules["pywt._extensions._pywt"] = ours
    sys.modules["pywt.data"] = ours.data
    sys.modules["pywt._pytest"] = theirs
    # Where PyWavelets' tests look for what is inside it.
    ours._dwt = types.SimpleNamespace(dwt_max_level=ours.dwt_max_level)
    ours._utils = module("pywt._utils", AxisError=single.AxisError)
    inside = module("pywt._extensions._swt", swt_axis=swt_axis)
    ours._extensions = module("pywt._extensions", _pywt=ours, _swt=inside)
