"""A pytest plugin: `import pywt` gives limpid.wavelets. What is not there comes from PyWavelets itself, so that its tests can name it."""

import sys
import types

import pywt as original

import limpid.wavelets as ours


class Shim(types.ModuleType):
    """PyWavelets with our functions in place of its own."""

    def __getattr__(self, name):
        return getattr(original, name)


shim = Shim("pywt")
for name in ours.__all__:
    setattr(shim, name, getattr(ours, name))


def _discrete_continuous(name="", filter_bank=None):
    """Discrete wavelets are ours, continuous ones are PyWavelets'."""
    made = original.DiscreteContinuousWavelet(name, filter_bank)
    return ours.Wavelet(name, filter_bank) if isinstance(made, original.Wavelet) else made


shim.DiscreteContinuousWavelet = _discrete_continuous
# Where one of its tests looks for a function.
shim._dwt = types.SimpleNamespace(dwt_max_level=ours.dwt_max_level)
shim.__path__ = original.__path__
sys.modules["pywt"] = shim
