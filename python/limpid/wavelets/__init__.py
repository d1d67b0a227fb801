"""Wavelet transforms with PyWavelets' names, signatures, modes and coefficient layout, on all cores.

Replace ``import pywt`` by ``import limpid.wavelets as pywt``. The module has the discrete transforms
of arrays with any number of axes, one or many levels, decimated or not, but no continuous transforms and no packets.

>>> import numpy as np
>>> import limpid.wavelets as pywt
>>> image = np.arange(16.0).reshape(4, 4)
>>> cA, (cH, cV, cD) = pywt.dwt2(image, "haar")
>>> cA
array([[ 5.,  9.],
       [21., 25.]])
>>> bool(np.allclose(pywt.idwt2((cA, (cH, cV, cD)), "haar"), image))
True
"""

from ._multilevel import (
    wavedec,
    wavedec2,
    wavedecn,
    wavedecn_shapes,
    wavedecn_size,
    waverec,
    waverec2,
    waverecn,
)
from ._pack import array_to_coeffs, coeffs_to_array, ravel_coeffs, unravel_coeffs
from ._single import (
    dwt,
    dwt2,
    dwt_coeff_len,
    dwt_max_level,
    dwtn,
    dwtn_max_level,
    idwt,
    idwt2,
    idwtn,
)
from ._swt import iswt, iswt2, iswtn, swt, swt2, swt_max_level, swtn
from ._threshold import threshold
from ._wavelet import Modes, Wavelet, families, wavelist

__all__ = [
    "Modes",
    "Wavelet",
    "array_to_coeffs",
    "coeffs_to_array",
    "dwt",
    "dwt2",
    "dwt_coeff_len",
    "dwt_max_level",
    "dwtn",
    "dwtn_max_level",
    "families",
    "idwt",
    "idwt2",
    "idwtn",
    "iswt",
    "iswt2",
    "iswtn",
    "ravel_coeffs",
    "swt",
    "swt2",
    "swt_max_level",
    "swtn",
    "threshold",
    "unravel_coeffs",
    "wavedec",
    "wavedec2",
    "wavedecn",
    "wavedecn_shapes",
    "wavedecn_size",
    "waverec",
    "waverec2",
    "waverecn",
    "wavelist",
]
