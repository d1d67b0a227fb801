"""limpid.torch: the numbers of limpid.wavelets, and gradients."""

import warnings

import numpy as np
import pytest

import limpid.wavelets as pywt

torch = pytest.importorskip("torch")

import limpid.torch as ours  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Level value")


def tensor(*shape, seed=1):
    x = torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))
    return x.requires_grad_()


def flat(coeffs):
    """All tensors of nested coefficients."""
    if isinstance(coeffs, torch.Tensor) or isinstance(coeffs, np.ndarray):
        return [coeffs]
    return [c for part in (coeffs.values() if isinstance(coeffs, dict) else coeffs) for c in flat(part)]


def same(mine, theirs, tolerance=1e-11):
    for a, b in zip(flat(mine), flat(theirs), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b, atol=tolerance)


@pytest.fixture(params=[True, False], ids=["compiled", "elsewhere"])
def anywhere(request, monkeypatch):
    """Here, and as on other devices."""
    if not request.param:
        check = ours._here
        monkeypatch.setattr(ours, "_here", lambda *tensors: check(*tensors) and False)


@pytest.mark.parametrize("mode", pywt.Modes.modes)
@pytest.mark.parametrize("name", ["haar", "db3", "bior2.4"])
def test_numbers(name, mode, anywhere):
    x = tensor(2, 21, 34)
    data = x.detach().numpy()
    same(ours.dwt(x, name, mode), pywt.dwt(data, name, mode))
    same(ours.dwt(x, name, mode, axis=1), pywt.dwt(data, name, mode, axis=1))
    coeffs = ours.wavedec2(x, name, mode, level=2)
    same(coeffs, pywt.wavedec2(data, name, mode, level=2))
    same(ours.waverec2(coeffs, name, mode), pywt.waverec2(pywt.wavedec2(data, name, mode, level=2), name, mode))
    line = ours.wavedec(x, name, mode, level=2)
    same(ours.waverec(line, name, mode), pywt.waverec(pywt.wavedec(data, name, mode, level=2), name, mode))


def test_undecimated_and_packets(anywhere):
    x = tensor(3, 24, 32)
    data = x.detach().numpy()
    coeffs = ours.swt2(x, "db2", level=2)
    same(coeffs, pywt.swt2(data, "db2", level=2))
    same(ours.iswt2(coeffs, "db2"), data)
    same(ours.iswt(ours.swt(x, "sym3", level=3), "sym3"), data)
    y = tensor(2, 21, 34)
    nodes = ours.packets2(y, "db2", level=2)
    theirs = pywt.WaveletPacket2D(y.detach().numpy(), "db2", "symmetric", 2)
    for path, node in nodes.items():
        np.testing.assert_allclose(node.detach().numpy(), theirs[path].data, atol=1e-11)
    same(ours.unpackets2(nodes, y.shape, "db2"), y.detach().numpy())
    same(ours.unpackets(ours.packets(y, "db4", level=2), y.shape, "db4"), y.detach().numpy())


@pytest.mark.parametrize("mode", pywt.Modes.modes)
@pytest.mark.parametrize("shape", [(5, 8), (7, 3)])
def test_gradients(mode, shape):
    x = tensor(*shape)
    for name in ("db2", "bior2.2"):
        assert torch.autograd.gradcheck(lambda x: tuple(flat(ours.wavedec2(x, name, mode, level=1))), x)
        assert torch.autograd.gradcheck(lambda x: ours.dwt(x, name, mode, axis=0), x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            coeffs = [c.detach().requires_grad_() for c in flat(ours.wavedec2(x, name, mode, level=1))]
        assert torch.autograd.gradcheck(lambda a, h, v, d: ours.waverec2([a, (h, v, d)], name, mode), coeffs)


def test_gradients_of_the_rest_and_of_gradients():
    x = tensor(4, 8)
    assert torch.autograd.gradcheck(lambda x: tuple(flat(ours.swt2(x, "bior2.2", level=2))), x)
    assert torch.autograd.gradcheck(lambda x: ours.iswt2(ours.swt2(x, "db2", level=2), "bior2.2"), x)
    assert torch.autograd.gradcheck(lambda x: tuple(ours.packets2(x, "db2", level=1).values()), x)
    assert torch.autograd.gradcheck(lambda x: ours.unpackets2(ours.packets2(x, "db2", level=2), x.shape, "sym2"), x)

    def curved(x):
        low, *details = ours.wavedec2(x, "db2", "reflect", level=1)
        return ours.waverec2([low.square(), *(tuple(b**3 for b in bands) for bands in details)], "db2", "reflect")

    assert torch.autograd.gradgradcheck(curved, tensor(4, 5))
    assert torch.autograd.gradgradcheck(lambda x: ours.iswt2([(a**2, d) for a, d in ours.swt2(x, "db2", level=1)], "db2"), tensor(4, 4))
    # A gradient that some bands have no part in.
    ours.wavedec2(x, "db2", level=1)[1][1].sum().backward()
    assert x.grad.abs().sum() > 0


def test_wrong_input_is_told_and_models_learn():
    x = torch.ones(64, 64)
    with pytest.raises(TypeError, match="float32 and float64"):
        ours.dwt2(torch.ones(4, 4, dtype=torch.float16), "haar")
    with pytest.raises(TypeError, match="a tensor is needed"):
        ours.dwt2(np.ones((4, 4)), "haar")
    with pytest.raises(ValueError):
        ours.wavedec2(x, "morl")
    with pytest.raises(ValueError, match="multiples"):
        ours.swt2(torch.ones(6, 6), "haar", level=2)
    with pytest.raises(ValueError, match="all 4 nodes"):
        ours.unpackets2({"a": x}, (128, 128), "haar")
    model = torch.nn.Conv2d(1, 1, 3, padding=1)
    ours.waverec2(ours.wavedec2(model(torch.rand(1, 1, 16, 16)), "db2", level=2), "db2").mean().backward()
    assert all(p.grad is not None for p in model.parameters())
