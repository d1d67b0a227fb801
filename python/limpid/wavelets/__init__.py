"""Wavelet transforms with PyWavelets' names, signatures, modes and coefficient layout, on all cores.

Replace ``import pywt`` by ``import limpid.wavelets as pywt``: everything that PyWavelets has is here, and its own tests pass.
Beyond it there are transforms that do not mind shifts, :func:`dtcwt2` and
:func:`starlet`, and one of whole numbers, :func:`wavedec53`.

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

from . import data
from ._continuous import ContinuousWavelet, DiscreteContinuousWavelet
from ._cwt import cwt
from ._functions import (
    central_frequency,
    centrfrq,
    frequency2scale,
    integrate_wavelet,
    intwave,
    orthfilt,
    orthogonal_filter_bank,
    qmf,
    scal2frq,
    scale2frequency,
)
from ._invariant import dtcwt2, idtcwt2, istarlet, starlet
from ._mra import imra, imra2, imran, mra, mra2, mran
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
from ._packets import (
    BaseNode,
    Node,
    Node2D,
    NodeND,
    WaveletPacket,
    WaveletPacket2D,
    WaveletPacketND,
)
from ._separable import FswavedecnResult, fswavedecn, fswaverecn
from ._single import (
    downcoef,
    dwt,
    dwt2,
    dwt_coeff_len,
    dwt_max_level,
    dwtn,
    dwtn_max_level,
    idwt,
    idwt2,
    idwtn,
    pad,
    upcoef,
)
from ._swt import iswt, iswt2, iswtn, swt, swt2, swt_max_level, swtn
from ._threshold import threshold, threshold_firm
from ._wavelet import Modes, Wavelet, families, wavelist
from ._whole import wavedec53, waverec53

__all__ = [
    "BaseNode",
    "ContinuousWavelet",
    "DiscreteContinuousWavelet",
    "FswavedecnResult",
    "Modes",
    "Node",
    "Node2D",
    "NodeND",
    "Wavelet",
    "WaveletPacket",
    "WaveletPacket2D",
    "WaveletPacketND",
    "array_to_coeffs",
    "central_frequency",
    "centrfrq",
    "coeffs_to_array",
    "cwt",
    "data",
    "downcoef",
    "dtcwt2",
    "dwt",
    "dwt2",
    "dwt_coeff_len",
    "dwt_max_level",
    "dwtn",
    "dwtn_max_level",
    "families",
    "frequency2scale",
    "fswavedecn",
    "fswaverecn",
    "idtcwt2",
    "idwt",
    "idwt2",
    "idwtn",
    "imra",
    "imra2",
    "imran",
    "integrate_wavelet",
    "intwave",
    "istarlet",
    "iswt",
    "iswt2",
    "iswtn",
    "mra",
    "mra2",
    "mran",
    "orthfilt",
    "orthogonal_filter_bank",
    "pad",
    "qmf",
    "ravel_coeffs",
    "scal2frq",
    "scale2frequency",
    "starlet",
    "swt",
    "swt2",
    "swt_max_level",
    "swtn",
    "threshold",
    "threshold_firm",
    "unravel_coeffs",
    "upcoef",
    "wavedec",
    "wavedec2",
    "wavedec53",
    "wavedecn",
    "wavedecn_shapes",
    "wavedecn_size",
    "wavelist",
    "waverec",
    "waverec2",
    "waverec53",
    "waverecn",
]
