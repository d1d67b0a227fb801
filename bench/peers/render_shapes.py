"""Cameras, materials, textures and shapes of the scenes that renders.py renders: procedural, nothing is downloaded."""

import os
import tempfile

import mitsuba as mi
import numpy as np
from PIL import Image, ImageDraw

MESHES = tempfile.TemporaryDirectory()


def place(at=(0, 0, 0), scale=1, turn=0, axis=(0, 1, 0)):
    t = mi.ScalarTransform4f
    return t().translate(list(at)) @ t().rotate(list(axis), turn) @ t().scale(scale if np.ndim(scale) == 0 else list(scale))


def camera(origin, target, fov=45, aperture=0, focus=None):
    sensor = {"type": "perspective", "fov": fov, "fov_axis": "x"}
    if aperture:
        distance = focus or float(np.linalg.norm(np.subtract(target, origin)))
        sensor = {**sensor, "type": "thinlens", "aperture_radius": aperture, "focus_distance": distance}
    look = mi.ScalarTransform4f().look_at(list(origin), list(target), [0, 1, 0])
    return {**sensor, "to_world": look}


# Materials


def rgb(*value):
    return {"type": "rgb", "value": list(value if len(value) == 3 else value * 3)}


def diffuse(color):
    return {"type": "twosided", "b": {"type": "diffuse", "reflectance": color}}


def plastic(color, alpha=0):
    kind = {"type": "roughplastic", "alpha": alpha} if alpha else {"type": "plastic"}
    return {"type": "twosided", "b": {**kind, "diffuse_reflectance": color, "nonlinear": True}}


def metal(name, alpha=0):
    kind = {"type": "roughconductor", "alpha": alpha} if alpha else {"type": "conductor"}
    return {"type": "twosided", "b": {**kind, "material": name}}


def glass(alpha=0):
    return {"type": "roughdielectric", "alpha": alpha} if alpha else {"type": "dielectric", "int_ior": 1.5}


def bumpy(bsdf, texture, scale=1.0):
    return {"type": "bumpmap", "arbitrary": texture, "scale": scale, "bsdf": bsdf}


# Textures


def bitmap(image, repeat=1, raw=False):
    data = mi.Bitmap(np.ascontiguousarray(image, np.float32))
    return {"type": "bitmap", "bitmap": data, "raw": raw, "to_uv": mi.ScalarTransform4f().scale([repeat, repeat, 1])}


def cloud(size, seed, octaves=5, first=4):
    """Sums of smooth noise on 0 … 1."""
    rng, out = np.random.default_rng(seed), np.zeros((size, size))
    for k in range(octaves):
        grid = Image.fromarray(rng.random((first << k, first << k)).astype(np.float32))
        out += np.asarray(grid.resize((size, size), Image.Resampling.BICUBIC)) / 2**k
    return (out - out.min()) / np.ptp(out)


def bricks(seed=0, size=512, rows=12, columns=6):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:size, :size] / size
    row = (y * rows).astype(int)
    u = x * columns + 0.5 * (row % 2)
    column = u.astype(int) % columns
    tone = rng.uniform(0.55, 1.1, (rows, columns))[row, column]
    edge = (u % 1 < 0.04) | ((y * rows) % 1 < 0.09)
    wall = np.stack([0.55 * tone, 0.25 * tone, 0.17 * tone], -1) * (0.8 + 0.4 * cloud(size, seed + 1, 6, 8)[..., None])
    return np.where(edge[..., None], 0.6, wall).clip(0, 1)


def text(seed=0, size=512, height=16):
    """Lines of letters on paper."""
    rng, page = np.random.default_rng(seed), Image.new("RGB", (size, size), (235, 228, 210))
    draw = ImageDraw.Draw(page)
    for y in range(6, size - height, height):
        words = ["".join(rng.choice(list("aeionrstlmdcpugh"), rng.integers(2, 9))) for _ in range(16)]
        draw.text((8, y), " ".join(words), fill=tuple(int(v) for v in rng.integers(0, 90, 3)))
    return (np.asarray(page) / 255.0) ** 2.2


def wood(seed=0, size=512, boards=5):
    x = np.mgrid[:size, :size][1] / size
    board = (x * boards).astype(int)
    ring = np.sin(60 * (x + 0.12 * cloud(size, seed, 4, 3)) + 9 * board + 6 * cloud(size, seed + 1, 3, 2))
    tone = 0.75 + 0.18 * ring + np.random.default_rng(seed).uniform(-0.15, 0.15, boards)[board]
    tone = np.where((x * boards) % 1 < 0.015, 0.15, tone)
    return (tone[..., None] * np.array([0.45, 0.27, 0.13])).clip(0, 1)


def painting(seed=0, size=256):
    rng = np.random.default_rng(seed)
    page = Image.new("RGB", (size, size), tuple(int(v) for v in rng.integers(60, 220, 3)))
    draw = ImageDraw.Draw(page)
    for _ in range(28):
        a, b = rng.integers(0, size, 2), rng.integers(10, size // 2, 2)
        box, fill = [*map(int, a), *map(int, a + b)], tuple(int(v) for v in rng.integers(0, 255, 3))
        (draw.ellipse if rng.random() < 0.5 else draw.rectangle)(box, fill=fill)
    return (np.asarray(page) / 255.0) ** 2.2


def sky(sun=0.0, size=256):
    """A clear sky with clouds over dark ground, with a sun of some pixels where `sun` is its brightness."""
    v, u = np.mgrid[:size, : 2 * size] / size
    height = np.cos(np.pi * v)[..., None]
    blue = np.array([0.30, 0.50, 0.95]) * (1 - np.abs(height)) ** 0.3 + 0.25
    white = np.concatenate([cloud(size, 5, 6, 3)] * 2, 1)[..., None] ** 2 * 1.4
    out = np.where(height > 0, blue + white * np.sqrt(np.maximum(height, 0)), np.array([0.16, 0.13, 0.10]))
    out[((u - 0.66) ** 2 * 0.6 + (v - 0.27) ** 2) < 0.012**2] += sun * np.array([1.0, 0.9, 0.75])
    return {"type": "envmap", "bitmap": mi.Bitmap(out.astype(np.float32))}


# Shapes


def mesh(name, points, faces, bsdf, uv=None, flat=False, to_world=None):
    """A triangle mesh, written as PLY."""
    path = os.path.join(MESHES.name, name + ".ply")
    columns = [("x", "<f4"), ("y", "<f4"), ("z", "<f4")] + ([("u", "<f4"), ("v", "<f4")] if uv is not None else [])
    table = np.zeros(len(points), columns)
    for k, (column, _) in enumerate(columns):
        table[column] = np.concatenate([points] + ([uv] if uv is not None else []), 1)[:, k]
    rows = np.zeros(len(faces), [("n", "u1"), ("i", "<i4", 3)])
    rows["n"], rows["i"] = 3, faces
    with open(path, "wb") as file:
        head = "".join(f"property float {c}\n" for c, _ in columns)
        file.write(f"ply\nformat binary_little_endian 1.0\nelement vertex {len(points)}\n{head}".encode())
        file.write(f"element face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n".encode())
        file.write(table.tobytes() + rows.tobytes())
    return {"type": "ply", "filename": path, "face_normals": flat, "bsdf": bsdf, "to_world": to_world or place()}


def surface(f, nu, nv):
    """Points and faces of a surface over a grid of u and v on 0 … 1."""
    u, v = np.meshgrid(np.linspace(0, 1, nu), np.linspace(0, 1, nv), indexing="ij")
    i = (np.arange(nu - 1)[:, None] * nv + np.arange(nv - 1)).ravel()
    faces = np.concatenate([np.stack([i, i + nv, i + 1], -1), np.stack([i + 1, i + nv, i + nv + 1], -1)])
    return np.stack(f(u.ravel(), v.ravel()), -1), faces, np.stack([u.ravel(), v.ravel()], -1)


def knot(name, bsdf, to_world, p=2, q=3, radius=0.28):
    def curve(t):
        r = 1 + 0.45 * np.cos(q * t)
        return np.stack([r * np.cos(p * t), r * np.sin(p * t), 0.55 * np.sin(q * t)], -1)

    def tube(u, v):
        t, a = 2 * np.pi * u, 2 * np.pi * v
        along = curve(t + 1e-3) - curve(t - 1e-3)
        side = np.cross(along, curve(t))
        side /= np.linalg.norm(side, axis=-1, keepdims=True)
        up = np.cross(side, along)
        up /= np.linalg.norm(up, axis=-1, keepdims=True)
        return tuple((curve(t) + radius * (np.cos(a)[:, None] * side + np.sin(a)[:, None] * up)).T)

    points, faces, uv = surface(tube, 400, 40)
    return mesh(name, points, faces, bsdf, uv, to_world=to_world)


def blades(name, bsdf, count, seed, area=3.0, height=0.6, width=0.02):
    """Grass: bent blades of three triangles."""
    rng = np.random.default_rng(seed)
    root = np.stack([rng.uniform(-area, area, count), np.zeros(count), rng.uniform(-area, area, count)], -1)
    turn, tall = rng.uniform(0, 2 * np.pi, count), height * rng.uniform(0.4, 1.2, count)
    side = np.stack([np.cos(turn), 0 * turn, np.sin(turn)], -1) * width
    lean = np.stack([-np.sin(turn), 0 * turn, np.cos(turn)], -1) * (tall * rng.uniform(0, 0.6, count))[:, None]
    up = np.stack([0 * tall, tall, 0 * tall], -1)
    middle = root + 0.55 * up + 0.3 * lean
    points = np.stack([root - side, root + side, middle - 0.7 * side, middle + 0.7 * side, root + up * 0.9 + lean], 1).reshape(
        -1, 3
    )
    faces = (np.arange(count)[:, None, None] * 5 + np.array([[0, 1, 2], [2, 1, 3], [2, 3, 4]])).reshape(-1, 3)
    return mesh(name, points, faces, bsdf, flat=True)


def foliage(name, bsdf, count, seed, center, spread, size=0.09):
    """Leaves: pairs of triangles, turned at random, in a ball."""
    rng = np.random.default_rng(seed)
    at = rng.normal(size=(count, 3))
    at *= (rng.random(count) ** 0.4 / np.linalg.norm(at, axis=-1))[:, None] * spread
    a, b = rng.normal(size=(2, count, 3))
    a *= size / np.linalg.norm(a, axis=-1, keepdims=True)
    b = np.cross(a, b)
    b *= 0.45 * size / np.linalg.norm(b, axis=-1, keepdims=True)
    points = (np.stack([a, b, -a, -b], 1) + (at + center)[:, None]).reshape(-1, 3)
    faces = (np.arange(count)[:, None, None] * 4 + np.array([[0, 1, 2], [0, 2, 3]])).reshape(-1, 3)
    return mesh(name, points, faces, bsdf, flat=True)


def vase(name, bsdf, to_world, profile):
    """A surface of revolution; profile is radius at equally spaced heights on 0 … 1."""
    spline = np.poly1d(np.polyfit(np.linspace(0, 1, len(profile)), profile, len(profile) - 1))

    def turned(u, v):
        r, a = np.maximum(spline(v), 0.01), 2 * np.pi * u
        return r * np.cos(a), v, -r * np.sin(a)

    points, faces, uv = surface(turned, 80, 60)
    return mesh(name, points, faces, bsdf, uv, to_world=to_world)


def ball(at, r, bsdf):
    return {"type": "sphere", "center": list(at), "radius": r, "bsdf": bsdf}


def box(at, half, bsdf, turn=0):
    return {"type": "cube", "to_world": place(at, half, turn), "bsdf": bsdf}


def stick(a, b, r, bsdf):
    return {"type": "cylinder", "p0": list(a), "p1": list(b), "radius": r, "bsdf": bsdf}


def floor(bsdf, half=8, y=0.0):
    return {"type": "rectangle", "to_world": place((0, y, 0), half, -90, (1, 0, 0)), "bsdf": bsdf}


def wall(at, half, facing, bsdf):
    """A rectangle whose normal points along facing, one of ±x, ±y, ±z."""
    turns = {"+z": (0, (0, 1, 0)), "-z": (180, (0, 1, 0)), "+x": (90, (0, 1, 0)), "-x": (-90, (0, 1, 0))}
    turns |= {"+y": (-90, (1, 0, 0)), "-y": (90, (1, 0, 0))}
    return {"type": "rectangle", "to_world": place(at, (*half, 1), *turns[facing]), "bsdf": bsdf}


def lamp(shape, *radiance):
    return {**{k: v for k, v in shape.items() if k != "bsdf"}, "emitter": {"type": "area", "radiance": rgb(*radiance)}}


def room(half, height, paints, ground):
    """Walls of a box from -half to half with a floor at 0; paints are left, right, back, front, ceiling."""
    x, z = half
    left, right, back, front, ceiling = paints
    return {
        "ground": wall((0, 0, 0), (x, z), "+y", ground),
        "ceiling": wall((0, height, 0), (x, z), "-y", ceiling),
        "left": wall((-x, height / 2, 0), (z, height / 2), "+x", left),
        "right": wall((x, height / 2, 0), (z, height / 2), "-x", right),
        "back": wall((0, height / 2, -z), (x, height / 2), "+z", back),
        "front": wall((0, height / 2, z), (x, height / 2), "-z", front),
    }
