"""What all tests share."""

import numpy as np
import pytest

import limpid


@pytest.fixture(scope="session")
def render():
    """A small noisy render with all its layers."""
    return limpid.render("cornell", size=(48, 40), spp=4)


@pytest.fixture
def photo():
    """A picture with grain, 0 … 1."""
    rng = np.random.default_rng(1)
    y, x = np.mgrid[0:40, 0:56]
    clean = 0.5 + 0.3 * np.sin(x / 9)[..., None] * np.cos(y / 7)[..., None] * np.ones(3)
    return np.clip(clean + rng.normal(0, 0.08, clean.shape), 0, 1)
