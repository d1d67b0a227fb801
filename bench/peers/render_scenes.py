"""Scenes of renders.py. SCENES names them with the set they belong to: settings may be chosen on `tune`, figures come from
`report`. Each function returns what `mitsuba.load_dict` takes, without film and integrator; `filter` and `integrator` stand in
for a box and a path tracer.
"""

import numpy as np
from render_shapes import *

SCENES = {}


def scene(group):
    def add(function):
        SCENES[function.__name__] = (group, function)
        return function

    return add


WHITE, GREY = (0.75, 0.73, 0.70), (0.45, 0.45, 0.47)


@scene("tune")
def door():
    """A dark room lit through the gap of a door, and by a small lamp on a table."""
    paint = diffuse(rgb(*WHITE))
    parts = room((2, 3), 2.6, [diffuse(rgb(0.55, 0.62, 0.5)), paint, paint, paint, paint], plastic(bitmap(wood(1), 2), 0.15))
    del parts["right"]
    return parts | {
        "wall a": box((2.05, 1.3, -1.65), (0.05, 1.3, 1.35), paint),
        "wall b": box((2.05, 1.3, 1.9), (0.05, 1.3, 1.1), paint),
        "above": box((2.05, 2.35, 0.25), (0.05, 0.25, 0.56), paint),
        "door": box((2.28, 1.05, 0.32), (0.48, 1.05, 0.03), plastic(rgb(0.35, 0.2, 0.1), 0.2), 62),
        "outside": wall((4.5, 1.3, 0.25), (2.5, 1.3), "-x", paint),
        "outside floor": wall((3.3, 0, 0.25), (1.25, 2.5), "+y", paint),
        "light": lamp(wall((3.3, 2.5, 0.2), (0.9, 1.6), "-y", None), 16, 14, 11),
        "table": box((-0.9, 0.7, -1.6), (0.7, 0.03, 0.45), plastic(bitmap(wood(3)), 0.1)),
        "leg 1": stick((-1.5, 0, -1.3), (-1.5, 0.7, -1.3), 0.03, metal("Al", 0.2)),
        "leg 2": stick((-0.3, 0, -1.3), (-0.3, 0.7, -1.3), 0.03, metal("Al", 0.2)),
        "bulb": lamp(ball((-1.25, 0.95, -1.7), 0.06, None), 22, 16, 9),
        "foot": stick((-1.25, 0.73, -1.7), (-1.25, 0.9, -1.7), 0.015, metal("Cu", 0.1)),
        "teapot": vase("teapot", plastic(rgb(0.15, 0.3, 0.55)), place((-0.6, 0.73, -1.5), 0.35), [0.3, 0.5, 0.45, 0.2, 0.3]),
        "picture": box((0.6, 1.5, -2.97), (0.45, 0.35, 0.02), diffuse(bitmap(painting(2)))),
        "chair": box((0.9, 0.45, -1.2), (0.28, 0.03, 0.28), diffuse(rgb(0.5, 0.12, 0.1)), 20),
        "chair back": box((1.0, 0.85, -1.45), (0.28, 0.4, 0.025), diffuse(rgb(0.5, 0.12, 0.1)), 20),
        "sensor": camera((-1.2, 1.45, 2.7), (0.55, 0.9, -1.2), 64),
    }


@scene("tune")
def balls():
    """Glass, rough glass and mirror balls on a checkerboard: caustics and reflections."""
    checker = {
        "type": "checkerboard",
        "color0": rgb(0.12, 0.12, 0.14),
        "color1": rgb(0.7, 0.68, 0.62),
        "to_uv": place(scale=(14, 14, 1)),
    }
    return {
        "floor": floor(plastic(checker, 0.25), 6),
        "back": wall((0, 3, -3.5), (6, 3), "+z", diffuse(bitmap(bricks(1), 3))),
        "glass": ball((-0.75, 0.7, 0.3), 0.7, glass()),
        "mirror": ball((0.95, 0.8, -0.7), 0.8, metal("Al")),
        "frosted": ball((0.55, 0.35, 0.95), 0.35, glass(0.12)),
        "gold": ball((-1.6, 0.3, 1.2), 0.3, metal("Au", 0.1)),
        "clay": ball((-1.9, 0.55, -0.9), 0.55, diffuse(rgb(0.6, 0.25, 0.15))),
        "lamp": lamp(wall((-2, 4, 1.5), (0.5, 0.5), "-y", None), 55, 50, 42),
        "sky": {"type": "constant", "radiance": rgb(0.25, 0.3, 0.4)},
        "sensor": camera((0.2, 1.9, 4.6), (-0.2, 0.6, 0), 42),
    }


@scene("tune")
def leaves():
    """Grass, leaves and sticks under a sky: thin triangles, features of several surfaces in one pixel."""
    rng, parts = np.random.default_rng(4), {}
    for k in range(14):
        a, b = rng.uniform(-1.6, 1.6, 2), rng.uniform(-0.5, 0.5, 3)
        parts[f"stick {k}"] = stick(
            (a[0], 0, a[1]), (a[0] + b[0], 1.6 + b[1], a[1] + b[2]), 0.02, diffuse(rgb(0.25, 0.16, 0.09))
        )
    return parts | {
        "ground": floor(diffuse(rgb(0.18, 0.13, 0.08)), 12),
        "grass": blades("grass", diffuse(rgb(0.14, 0.32, 0.06)), 5000, 1),
        "dry": blades("dry", diffuse(rgb(0.5, 0.42, 0.18)), 900, 2, height=0.8),
        "bush": foliage("bush", plastic(rgb(0.10, 0.30, 0.06), 0.15), 1600, 3, (0.5, 1.3, -0.4), 0.8),
        "red bush": foliage("red bush", diffuse(rgb(0.5, 0.10, 0.05)), 900, 6, (-1.0, 1.1, -0.9), 0.6),
        "stone": ball((-0.7, 0.1, 1.1), 0.32, diffuse(rgb(0.5, 0.5, 0.5))),
        "sky": sky(2500),
        "sensor": camera((0.1, 1.1, 3.6), (0, 0.75, 0), 48),
    }


@scene("tune")
def bokeh():
    """A thin lens with small bright lights out of focus."""
    rng, parts = np.random.default_rng(9), {}
    for k in range(36):
        at, tint = (rng.uniform(-3.5, 3.5), rng.uniform(0.3, 3.4), rng.uniform(-6.5, -3)), rng.uniform(0.3, 1, 3)
        parts[f"light {k}"] = lamp(ball(at, 0.06, None), *(tint * 22))
    for k in range(9):
        tint = rng.uniform(0.1, 0.8, 3)
        parts[f"cup {k}"] = vase(
            f"cup {k}", plastic(rgb(*tint), 0.08), place(((k - 4) * 0.55, 0, 1 - 0.65 * k), 0.5), [0.25, 0.3, 0.28, 0.35]
        )
    return parts | {
        "floor": floor(plastic(bitmap(wood(2), 3), 0.12), 8),
        "back": wall((0, 3, -7), (8, 3), "+z", diffuse(bitmap(bricks(3), 3))),
        "knot": knot("bokeh knot", metal("Cu", 0.15), place((0.7, 0.55, 0.9), 0.33, 25)),
        "key": lamp(wall((2, 4.5, 2), (1, 1), "-y", None), 7, 6.5, 6),
        "sky": {"type": "constant", "radiance": rgb(0.05, 0.06, 0.09)},
        "sensor": camera((0.2, 1.0, 4.2), (0, 0.6, 0), 42, 0.11, 3.4),
    }


@scene("tune")
def shelf():
    """Rough metals, plastics and books on shelves, lit by a strip and a window."""
    rng, parts = np.random.default_rng(12), {}
    metals = [metal(m, a) for m, a in [("Au", 0.3), ("Cu", 0.15), ("Al", 0.08), ("Ag", 0.25)]]
    for row in range(3):
        y, x = 0.05 + row * 0.95, -1.85
        parts[f"board {row}"] = box((0, y - 0.025, 0), (2, 0.025, 0.4), plastic(bitmap(wood(7)), 0.2))
        while x < 1.8:
            kind, name = rng.integers(0, 4), f"thing {len(parts)}"
            tint = rgb(*rng.uniform(0.05, 0.75, 3))
            if kind == 0:
                for k in range(5):
                    tall, wide = rng.uniform(0.25, 0.37), rng.uniform(0.03, 0.06)
                    cover = bitmap(text(int(rng.integers(99)), 128)) if k % 3 == 0 else rgb(*rng.uniform(0.05, 0.7, 3))
                    parts[f"{name} book {k}"] = box((x + wide, y + tall, 0), (wide, tall, 0.25), plastic(cover, 0.2))
                    x += 2 * wide + 0.005
            elif kind == 1:
                parts[name] = ball((x + 0.25, y + 0.25, 0.05), 0.25, metals[len(parts) % 4])
                x += 0.5
            elif kind == 2:
                profile = rng.uniform(0.12, 0.35, 5)
                parts[name] = vase(
                    name, plastic(tint) if x < 0 else metals[len(parts) % 4], place((x + 0.25, y, 0), 0.65), profile
                )
                x += 0.5
            else:
                parts[name] = knot(name, plastic(tint, 0.1), place((x + 0.3, y + 0.3, 0.05), 0.2, rng.uniform(0, 90)))
                x += 0.6
            x += 0.08
    return parts | {
        "back": wall((0, 1.5, -0.4), (2.6, 2), "+z", diffuse(rgb(*WHITE))),
        "side a": box((-2.03, 1.4, 0), (0.03, 1.5, 0.4), plastic(bitmap(wood(8)), 0.2)),
        "side b": box((2.03, 1.4, 0), (0.03, 1.5, 0.4), plastic(bitmap(wood(8)), 0.2)),
        "floor": floor(diffuse(rgb(*GREY)), 8),
        "strip": lamp(wall((0, 3.4, 1.2), (1.6, 0.1), "-y", None), 40, 36, 30),
        "window": lamp(wall((-4, 1.8, 2.5), (0.8, 1.0), "+x", None), 5, 6, 8),
        "room": {"type": "constant", "radiance": rgb(0.06)},
        "sensor": camera((0.5, 1.55, 4.6), (0, 1.35, 0), 46),
    }


@scene("tune")
def lamps():
    """Lamps from a thread to a panel, seen directly, very bright, close to walls."""
    paint = diffuse(rgb(0.7, 0.68, 0.66))
    parts = room(
        (2.2, 2.5),
        2.8,
        [diffuse(rgb(0.6, 0.25, 0.2)), diffuse(rgb(0.2, 0.35, 0.55)), paint, paint, paint],
        plastic(rgb(0.3), 0.1),
    )
    tints = [(1, 0.8, 0.5), (0.6, 0.8, 1), (1, 0.4, 0.3), (0.5, 1, 0.6)]
    for k in range(9):
        r = 0.012 * 1.45**k
        at = (-1.9 + 0.46 * k, 0.9 + 0.5 * np.sin(1.7 * k), -2.4 + r + 0.3 * (k % 3))
        parts[f"bulb {k}"] = lamp(ball(at, r, None), *(np.array(tints[k % 4]) * 0.12 / r**1.5))
    return parts | {
        "tube": lamp(stick((-1.5, 2.55, -2.3), (1.5, 2.55, -2.3), 0.04, None), 18, 18, 16),
        "thread": lamp(stick((2.12, 0.4, -1.9), (2.12, 2.2, -1.2), 0.008, None), 40, 14, 28),
        "panel": lamp(wall((-2.18, 1.6, -0.9), (0.45, 0.45), "+x", None), 5, 5.5, 6),
        "cube": box((-0.7, 0.35, -1.1), (0.35, 0.35, 0.35), diffuse(rgb(*WHITE)), 25),
        "ball": ball((0.6, 0.4, -1.0), 0.4, metal("Al", 0.05)),
        "cone": vase("cone", glass(), place((1.4, 0, -0.5), 0.7), [0.4, 0.25, 0.15, 0.1, 0.05]),
        "sensor": camera((0, 1.35, 2.3), (0, 1.1, -1.5), 62),
    }


@scene("tune")
def wide():
    """A desk with letters and small things through a Gaussian pixel filter of one pixel: noise of neighbours is correlated."""
    return {
        "desk": floor(plastic(bitmap(wood(11), 2), 0.15), 4),
        "page 1": box((-0.7, 0.01, 0.4), (0.55, 0.01, 0.7), diffuse(bitmap(text(5))), 15),
        "page 2": box((0.55, 0.015, 0.5), (0.5, 0.015, 0.65), diffuse(bitmap(text(6, height=24))), -20),
        "knot": knot("desk knot", metal("Au", 0.12), place((0.35, 0.4, -0.6), 0.27, 40)),
        "glass": vase("glass", glass(), place((-0.5, 0.0, -0.7), 0.9), [0.25, 0.3, 0.2, 0.3]),
        "marble": ball((0.1, 0.12, 0.3), 0.12, glass()),
        "dice": box((1.1, 0.12, -0.1), (0.12, 0.12, 0.12), plastic(rgb(0.7, 0.05, 0.05)), 33),
        "back": wall((0, 2, -2.5), (4, 2), "+z", diffuse(bitmap(bricks(8), 2))),
        "lamp": lamp(ball((-1.5, 1.4, -0.9), 0.12, None), 60, 50, 36),
        "window": lamp(wall((2.8, 1.8, 0.5), (0.8, 0.8), "-x", None), 5, 6, 7),
        "sensor": camera((0.1, 1.9, 2.7), (0, 0.2, -0.1), 44),
        "filter": {"type": "gaussian", "stddev": 1.0},
    }


@scene("report")
def metalknot():
    """A metal knot on bricks, with letters on the wall behind it."""
    return {
        "floor": floor(plastic(bitmap(bricks(21), 4), 0.2), 6),
        "back": wall((0, 2.5, -2.6), (5, 2.5), "+z", diffuse(bitmap(text(22, 1024, 22)))),
        "knot": knot("big knot", metal("Ag", 0.06), place((0, 1.25, 0), 0.75, 20), 3, 4, 0.2),
        "small": knot("small knot", metal("Cu"), place((1.7, 0.4, 0.9), 0.25, 70)),
        "ring": knot("ring", plastic(rgb(0.1, 0.45, 0.2)), place((-1.7, 0.42, 0.8), 0.27, -30), 2, 5, 0.18),
        "lamp": lamp(wall((2.5, 4, 2), (0.6, 0.6), "-y", None), 34, 30, 25),
        "spot": lamp(ball((-2.6, 2.2, -0.6), 0.1, None), 60, 70, 90),
        "sky": {"type": "constant", "radiance": rgb(0.12, 0.13, 0.16)},
        "sensor": camera((0.2, 1.8, 5), (0, 1.0, 0), 44),
    }


@scene("report")
def beads():
    """Hundreds of small glossy things in a tray: glass, metal, plastic."""
    rng, parts = np.random.default_rng(31), {}
    makers = [
        lambda c: glass(),
        lambda c: plastic(c),
        lambda c: plastic(c, 0.15),
        lambda c: metal("Au", 0.1),
        lambda c: metal("Al"),
        lambda c: diffuse(c),
    ]
    shared = [make(rgb(*rng.uniform(0.05, 0.8, 3))) for make in makers for _ in range(4)]
    placed = []
    while len(placed) < 260:
        r = rng.uniform(0.05, 0.13)
        x, z = rng.uniform(-1.9, 1.9), rng.uniform(-1.9, 1.9)
        if all((x - a) ** 2 + (z - b) ** 2 > (r + s) ** 2 for a, b, s in placed):
            placed.append((x, z, r))
            bsdf = shared[rng.integers(len(shared))]
            cube = rng.random() < 0.3
            shape = (
                box((x, 0.7 * r, z), (0.6 * r, 0.7 * r, 0.6 * r), bsdf, rng.uniform(0, 90))
                if cube
                else ball((x, r, z), r, bsdf)
            )
            parts[f"bead {len(placed)}"] = shape
    return parts | {
        "tray": floor(diffuse(bitmap(cloud(512, 33)[..., None] * np.array([0.3, 0.35, 0.5]) + 0.15)), 2.2),
        "table": floor(plastic(rgb(0.2, 0.1, 0.06), 0.1), 8, -0.1),
        "rim": box((0, 0.05, -2.2), (2.25, 0.16, 0.05), plastic(bitmap(wood(34)), 0.1)),
        "rim 2": box((-2.2, 0.05, 0), (0.05, 0.16, 2.25), plastic(bitmap(wood(35)), 0.1)),
        "rim 3": box((2.2, 0.05, 0), (0.05, 0.16, 2.25), plastic(bitmap(wood(36)), 0.1)),
        "key": lamp(wall((-2, 4, 0), (0.7, 0.7), "-y", None), 26, 24, 20),
        "sky": {"type": "constant", "radiance": rgb(0.25, 0.27, 0.3)},
        "sensor": camera((0, 2.3, 3.6), (0, 0, 0.25), 42),
    }


@scene("report")
def garden():
    """A tree, grass and a brick hut in sun and under sky; a third of the pixels hit nothing."""
    rng, parts = np.random.default_rng(41), {}
    for k in range(10):
        a = rng.normal(size=3) * (0.7, 0.25, 0.7) + (-0.9, 2.2, 0)
        parts[f"branch {k}"] = stick((-0.9, 1.1, 0), a, 0.03, diffuse(rgb(0.22, 0.15, 0.1)))
    return parts | {
        "ground": floor(diffuse(rgb(0.25, 0.22, 0.12)), 25),
        "grass": blades("lawn", diffuse(rgb(0.16, 0.36, 0.07)), 9000, 42, 4.0, 0.3, 0.015),
        "trunk": stick((-0.9, 0, 0), (-0.9, 1.6, 0), 0.09, diffuse(rgb(0.22, 0.15, 0.1))),
        "crown": foliage("crown", plastic(rgb(0.12, 0.34, 0.06), 0.2), 2600, 43, (-0.9, 2.3, 0), 1.0, 0.11),
        "hut": box((1.7, 0.8, -1), (0.9, 0.8, 0.8), diffuse(bitmap(bricks(44), 2)), 20),
        "roof": vase(
            "roof", diffuse(rgb(0.35, 0.08, 0.05)), place((1.7, 1.6, -1), (1.5, 0.8, 1.5), 20), [0.95, 0.7, 0.45, 0.2, 0.02]
        ),
        "pond": ball((0.6, 0.35, 1.5), 0.35, metal("Al")),
        "fence": box((-3, 0.4, -1.5), (1.2, 0.03, 0.02), diffuse(rgb(0.7))),
        "sky": sky(9000),
        "sensor": camera((0.2, 1.3, 6.2), (0.2, 1.45, 0), 46),
    }


@scene("report")
def museum():
    """Statues and pictures with a thin lens; some stand far in front of and behind the focus."""
    paint = diffuse(rgb(0.65, 0.63, 0.6))
    parts = room(
        (3, 6),
        3.2,
        [diffuse(rgb(0.4, 0.15, 0.15)), diffuse(rgb(0.25, 0.3, 0.25)), paint, paint, paint],
        plastic(bitmap(wood(51), 4), 0.1),
    )
    stuff = [metal("Cu", 0.1), diffuse(rgb(0.75)), plastic(rgb(0.1, 0.3, 0.5)), glass(), metal("Au", 0.25)]
    for k in range(5):
        x, z = (-1.3, 0.9, -0.7, 1.4, 0.1)[k], (3.0, 1.8, 0.2, -1.4, -3.5)[k]
        parts[f"stand {k}"] = box((x, 0.45, z), (0.27, 0.45, 0.27), plastic(rgb(*GREY), 0.3), 13 * k)
        if k % 2:
            parts[f"statue {k}"] = vase(f"statue {k}", stuff[k], place((x, 0.9, z), 0.8), [0.3, 0.15, 0.35, 0.2, 0.12, 0.18])
        else:
            parts[f"statue {k}"] = knot(f"statue {k}", stuff[k], place((x, 1.3, z), 0.27, 30 * k), 2, 3 + k, 0.2)
    for k in range(6):
        z, side = 3.5 - 2.2 * (k // 2), (-1, 1)[k % 2]
        parts[f"picture {k}"] = box((2.96 * side, 1.6, z), (0.02, 0.5, 0.6), diffuse(bitmap(painting(60 + k))))
    for k in range(3):
        parts[f"light {k}"] = lamp(wall((0, 3.18, 3 - 3 * k), (0.8, 0.15), "-y", None), 30, 27, 23)
    return parts | {"sensor": camera((0, 1.5, 5.7), (0, 1.15, 0), 56, 0.09, 4.1)}


@scene("report")
def curtain():
    """Daylight through a thin curtain into a room: light that surfaces let through."""
    paint = diffuse(rgb(*WHITE))
    parts = room(
        (2.3, 2.5),
        2.7,
        [paint, diffuse(rgb(0.5, 0.55, 0.35)), paint, paint, paint],
        diffuse(bitmap(cloud(256, 71)[..., None] * np.array([0.5, 0.3, 0.2]) + 0.1, 3)),
    )
    del parts["left"]
    points, faces, uv = surface(lambda u, v: (-2.1 + 0.07 * np.sin(40 * u) + 0 * v, 0.15 + 2.4 * v, -2.2 + 3.6 * u), 240, 12)
    cloth = {"type": "principledthin", "base_color": rgb(0.75, 0.45, 0.3), "diff_trans": 1.1, "roughness": 0.8}
    return parts | {
        "curtain": mesh("curtain", points, faces, cloth, uv),
        "pier a": box((-2.3, 1.35, 1.9), (0.05, 1.35, 0.6), paint),
        "pier b": box((-2.3, 0.3, -0.4), (0.05, 0.3, 2.1), paint),
        "sofa": box((0.6, 0.3, -1.7), (1.0, 0.3, 0.45), diffuse(rgb(0.15, 0.22, 0.4))),
        "sofa back": box((0.6, 0.75, -2.1), (1.0, 0.4, 0.12), diffuse(rgb(0.15, 0.22, 0.4))),
        "table": vase(
            "round table",
            plastic(bitmap(wood(72)), 0.1),
            place((-0.7, 0, -0.6), (1, 0.55, 1)),
            [0.3, 0.08, 0.05, 0.05, 0.1, 0.55],
        ),
        "bowl": ball((-0.7, 0.72, -0.6), 0.17, glass()),
        "paper": box((1.4, 1.6, -2.47), (0.5, 0.35, 0.01), diffuse(bitmap(text(73)))),
        "pot": vase("pot", plastic(rgb(0.5, 0.15, 0.08), 0.2), place((1.7, 0, -1.0), 0.5), [0.3, 0.4, 0.45, 0.5]),
        "plant": foliage("plant", plastic(rgb(0.12, 0.4, 0.1), 0.2), 260, 74, (1.7, 0.95, -1.0), 0.5, 0.16),
        "sun": lamp(wall((-5.5, 3.0, 0.2), (1.3, 1.3), "+x", None), 60, 54, 42),
        "sky": {"type": "constant", "radiance": rgb(1.2, 1.5, 2.0)},
        "sensor": camera((0.5, 1.4, 2.35), (-0.25, 0.95, -1.2), 66),
    }


@scene("report")
def kitchen():
    """Small glossy and bumpy things on a counter, with Mitsuba's own pixel filter, a Gaussian of half a pixel."""
    rng, parts = np.random.default_rng(81), {}
    tiles = np.kron(rng.uniform(0.35, 0.75, (16, 16)), np.ones((32, 32)))
    joint = (np.arange(512) % 32 < 2)[:, None] | (np.arange(512) % 32 < 2)[None]
    bumps = bumpy(plastic(rgb(0.6, 0.25, 0.1), 0.1), bitmap(cloud(256, 83, 4, 24)[..., None], 2, True), 0.06)
    for k in range(7):
        bsdf = [
            glass(),
            metal("Al", 0.1),
            plastic(rgb(*rng.uniform(0.1, 0.7, 3))),
            glass(0.1),
            bumps,
            metal("Cu", 0.2),
            plastic(rgb(0.7), 0.05),
        ][k]
        parts[f"pot {k}"] = vase(
            f"pot {k}",
            bsdf,
            place((-1.7 + 0.55 * k, 0, -0.5 + 0.35 * (k % 3)), rng.uniform(0.4, 0.85)),
            rng.uniform(0.15, 0.42, 5),
        )
    for k in range(12):
        bsdf = [plastic(rgb(0.7, 0.1, 0.05)), plastic(rgb(0.6, 0.5, 0.05), 0.1), diffuse(rgb(0.2, 0.4, 0.1)), glass()][k % 4]
        parts[f"fruit {k}"] = ball((rng.uniform(-1.8, 1.8), 0.09, rng.uniform(0.45, 1.1)), 0.09, bsdf)
    return parts | {
        "counter": floor(
            bumpy(plastic(rgb(0.25, 0.24, 0.22), 0.08), bitmap(cloud(256, 82, 5, 16)[..., None], 4, True), 0.02), 3
        ),
        "tiles": wall(
            (0, 1.5, -1.2),
            (3, 1.5),
            "+z",
            plastic(bitmap(np.where(joint, 0.8, tiles)[..., None] * np.array([0.7, 0.85, 0.9]), 2), 0.1),
        ),
        "hood": lamp(wall((-0.7, 2.3, -0.2), (0.5, 0.12), "-y", None), 45, 38, 28),
        "window": lamp(wall((3, 1.6, 1.2), (0.7, 0.9), "-x", None), 6, 7, 9),
        "sky": {"type": "constant", "radiance": rgb(0.1)},
        "sensor": camera((0.3, 1.35, 3.3), (0, 0.4, -0.2), 48),
        "filter": {"type": "gaussian"},
    }


@scene("report")
def hall():
    """Columns and a lit niche in fog, through a Gaussian pixel filter of 1.2 pixels: light in the air has no feature."""
    stone = diffuse(bitmap(cloud(512, 91)[..., None] * np.array([0.3, 0.29, 0.26]) + 0.3, 2))
    parts = room((3, 5), 4, [stone] * 5, plastic(bitmap(bricks(92), 5), 0.1))
    for k in range(6):
        at = ((-1.7, 1.7)[k % 2], 2.2 - 2.4 * (k // 2))
        parts[f"column {k}"] = stick((at[0], 0, at[1]), (at[0], 4, at[1]), 0.28, stone)
    view = camera((0.4, 1.6, 4.8), (0, 1.5, 0), 58)
    return parts | {
        "air": {"type": "homogeneous", "albedo": rgb(0.9), "sigma_t": 0.07},
        "niche": lamp(wall((0, 2.2, -4.9), (0.5, 0.8), "+z", None), 12, 9, 6),
        "skylight": lamp(wall((0, 3.95, 0.5), (0.8, 0.6), "-y", None), 9, 10, 12),
        "statue": knot("hall knot", metal("Cu", 0.2), place((0, 1.3, -1.2), 0.4, 10)),
        "stand": box((0, 0.35, -1.2), (0.35, 0.35, 0.35), stone, 30),
        "sensor": {**view, "medium": {"type": "ref", "id": "air"}},
        "filter": {"type": "gaussian", "stddev": 1.2},
        "integrator": {"type": "volpath", "max_depth": 10},
    }
