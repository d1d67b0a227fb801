"""Dask and Ray: no seams, history across runs, nothing lost when a worker dies."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import limpid

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
limpid_dask = pytest.importorskip("limpid.dask")


@pytest.fixture(scope="module")
def client():
    """A cluster of several processes on this machine."""
    with distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            yield client


def grain(shape, seed=0):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]]
    clean = 0.5 + 0.3 * np.sin(x / 23) * np.cos(y / 31)
    return (clean[..., None] + rng.normal(0, 0.08, (*shape, 3))).astype("float32")


@pytest.mark.parametrize(
    "method, options",
    [
        ("nlm", {"sigma": 0.08, "radius": 5}),
        ("nlm", {"radius": 5}),
        ("eaw", {}),
        ("filter:gaussian", {"radius": 6}),
        ("auto", {}),
    ],
    ids=str,
)
def test_there_are_no_seams(method, options):
    noisy = grain((230, 301))
    whole = limpid.denoise(noisy, method=method, device="cpu", **options)
    parts = limpid_dask.denoise(da.from_array(noisy, chunks=(64, 80, 3)), method=method, device="cpu", **options)
    assert parts.numblocks[0] > 1
    made = parts.compute(scheduler="threads")
    assert made.dtype == whole.dtype and made.shape == whole.shape
    np.testing.assert_allclose(made, whole, atol=2e-6)


def test_renders_with_their_layers(client):
    frame = limpid.render("cornell", size=(200, 150), spp=4)
    names = ("albedo", "normal", "depth")
    for method in ("nfor", "atrous"):
        whole = limpid.denoise(
            {"color": frame["color"], **{n: frame[n] for n in names}}, method=method, device="cpu"
        ).color
        parts = limpid_dask.denoise(
            da.from_array(frame["color"], chunks=(75, 100, 3)),
            method=method,
            device="cpu",
            **{n: da.from_array(frame[n]) for n in names},
        )
        made = parts.compute()
        # Chunks begin at other lanes, so sums round differently; where features hardly vary, the
        # regressions of nfor magnify that in a few pixels.
        np.testing.assert_allclose(made, whole, atol=1e-3, err_msg=method)
        assert np.abs(made - whole).mean() < 1e-6 * whole.mean(), method


def test_whole_numbers_and_grey():
    noisy = np.clip(grain((150, 160))[..., 0] * 255, 0, 255).astype("uint8")
    parts = limpid_dask.denoise(da.from_array(noisy, chunks=(64, 64)), method="nlm", sigma=0.08, device="cpu")
    assert parts.dtype == np.uint8 and parts.shape == noisy.shape
    whole = limpid.denoise(noisy, method="nlm", sigma=0.08, device="cpu")
    assert np.abs(parts.compute().astype(int) - whole).max() <= 1


def test_large_images_are_sampled(monkeypatch):
    noisy = grain((700, 900))
    monkeypatch.setattr(limpid_dask, "WHOLE", 1000)
    monkeypatch.setattr(limpid_dask, "CROP", 64)
    seen = limpid_dask.sample(da.from_array(noisy, chunks=(256, 256, 3)))
    assert seen.shape == (7 * 64, 7 * 64, 3)
    parts = limpid_dask.denoise(da.from_array(noisy, chunks=(256, 256, 3)), method="nlm", radius=4, device="cpu")
    whole = limpid.denoise(noisy, method="nlm", radius=4, noise=seen, device="cpu")
    np.testing.assert_allclose(parts.compute(scheduler="threads"), whole, atol=1e-5)


def test_what_cannot_be_cut_is_refused():
    noisy = da.zeros((64, 64, 3), chunks=32)
    with pytest.raises(limpid.UnsupportedError, match="whole image or on earlier frames"):
        limpid_dask.denoise(noisy, method="svgf", device="cpu", normal=noisy, depth=noisy[..., 0], motion=noisy[..., :2])
    with pytest.raises(limpid.UnsupportedError, match="shrink"):
        limpid_dask.denoise(noisy, method="shrink", sigma=0.1, device="cpu")
    with pytest.raises(limpid.InputError, match="same size"):
        limpid_dask.denoise(noisy, normal=da.zeros((32, 64, 3)))
    with pytest.raises(limpid.InputError, match="not an image"):
        limpid_dask.denoise(da.zeros(10))
    with pytest.raises(limpid.UnknownNameError, match="radius"):
        limpid_dask.denoise(noisy, method="nlm", radios=3)


def kill_one(client, after):
    """Kills a worker's process while work is going on."""
    pids = client.run(os.getpid)

    def kill():
        time.sleep(after)
        os.kill(next(iter(pids.values())), signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_an_image_survives_the_death_of_a_worker(client):
    noisy = grain((420, 500), 7)
    options = {"method": "nlm", "sigma": 0.08, "radius": 10, "device": "cpu"}
    parts = limpid_dask.denoise(da.from_array(noisy, chunks=(60, 60, 3)), **options)
    future = client.compute(parts)
    killer = kill_one(client, 1.0)
    made = future.result(timeout=240)
    killer.join()
    np.testing.assert_allclose(made, limpid.denoise(noisy, **options), atol=2e-6)


@pytest.fixture(scope="module")
def shot(tmp_path_factory):
    """A short sequence."""
    folder = tmp_path_factory.mktemp("shot")
    for i in range(12):
        limpid.write(folder / f"noisy.{i:04}.exr", limpid.render("corridor", size=(96, 64), spp=2, frame=i))
    denoiser = limpid.Denoiser("svgf", device="cpu")
    whole = [denoiser(limpid.read(folder / f"noisy.{i:04}.exr")).color for i in range(12)]
    return folder, whole


def check(folder, whole, name, atol):
    for i, expected in enumerate(whole):
        made = limpid.read(folder / f"{name}.{i:04}.exr")["color"]
        error = np.abs(made - expected).mean() / expected.mean()
        assert error <= atol, (i, error)
    assert not [p for p in folder.iterdir() if p.suffix == ".tmp" or p.name.startswith(".limpid")]


def test_sequences_keep_their_history(shot):
    folder, whole = shot
    bag = limpid_dask.files(folder / "noisy.####.exr", folder / "one.####.exr", run=12, method="svgf", device="cpu")
    assert len(bag.compute(scheduler="threads")) == 12
    check(folder, whole, "one", 1e-7)
    bag = limpid_dask.files(folder / "noisy.####.exr", folder / "runs.####.exr", run=4, warm_up=8, method="svgf", device="cpu")
    names = bag.compute(scheduler="threads")
    assert [os.path.basename(n) for n in names] == [f"runs.{i:04}.exr" for i in range(12)]
    # Runs whose warm-up reaches the first frame are the same; later ones nearly.
    check(folder, whole, "runs", 0.01)
    cold = limpid_dask.files(folder / "noisy.####.exr", folder / "cold.####.exr", run=4, warm_up=0, method="svgf", device="cpu")
    cold.compute(scheduler="threads")
    with pytest.raises(AssertionError):
        check(folder, whole, "cold", 0.01)


def test_a_sequence_survives_the_death_of_a_worker(client, shot):
    folder, whole = shot
    bag = limpid_dask.files(folder / "noisy.####.exr", folder / "killed.####.exr", run=2, warm_up=11, method="svgf", device="cpu")
    future = client.compute(bag)
    killer = kill_one(client, 0.4)
    names = future.result(timeout=240)
    killer.join()
    assert len(names) == 12
    check(folder, whole, "killed", 1e-7)


def test_folders_and_resume(shot, tmp_path):
    folder, _ = shot
    files = [folder / f"noisy.{i:04}.exr" for i in range(3)]
    first = limpid_dask.files(files, tmp_path, method="atrous", device="cpu").compute(scheduler="threads")
    assert sorted(os.listdir(tmp_path)) == [f"noisy.{i:04}.exr" for i in range(3)] and len(first) == 3
    times = [os.stat(tmp_path / name).st_mtime_ns for name in sorted(os.listdir(tmp_path))]
    os.remove(tmp_path / "noisy.0001.exr")
    limpid_dask.files(files, tmp_path, method="atrous", device="cpu", resume=True).compute(scheduler="threads")
    again = [os.stat(tmp_path / name).st_mtime_ns for name in sorted(os.listdir(tmp_path))]
    assert again[0] == times[0] and again[2] == times[2] and again[1] > times[1]
    assert limpid_dask.files(files, tmp_path, resume=True).compute(scheduler="threads") == []
    with pytest.raises(limpid.InputError, match="####"):
        limpid_dask.files(folder / "noisy.####.exr", tmp_path / "clean.exr")
    with pytest.raises(limpid.InputError, match="no such frames"):
        limpid_dask.files(folder / "none.####.exr", tmp_path / "clean.####.exr")


def test_ray_too(shot):
    ray = pytest.importorskip("ray")
    limpid_ray = pytest.importorskip("limpid.ray")
    folder, whole = shot
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:

        @ray.remote
        def pid():
            return os.getpid()

        victims = set(ray.get([pid.remote() for _ in range(4)]))
        tasks = limpid_ray.files(folder / "noisy.####.exr", folder / "ray.####.exr", run=2, warm_up=11, method="svgf", device="cpu")
        time.sleep(0.3)
        for victim in list(victims)[:1]:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass
        names = [name for part in ray.get(tasks, timeout=240) for name in part]
    finally:
        ray.shutdown()
    assert len(names) == 12
    check(folder, whole, "ray", 1e-7)
