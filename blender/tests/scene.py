"""A small scene for tests and pictures: things move, the lens blurs, one thing is of glass and one is half transparent."""

import math

import bpy


def material(name, color, metal=0.0, rough=0.5, glass=0.0, alpha=1.0):
    made = bpy.data.materials.new(name)
    if not made.use_nodes:
        made.use_nodes = True
    shader = made.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*color, 1)
    shader.inputs["Metallic"].default_value = metal
    shader.inputs["Roughness"].default_value = rough
    shader.inputs["Transmission Weight"].default_value = glass
    shader.inputs["Alpha"].default_value = alpha
    return made


def checks(name, scale):
    made = material(name, (0.5, 0.5, 0.5))
    tree = made.node_tree
    checker = tree.nodes.new("ShaderNodeTexChecker")
    checker.inputs["Scale"].default_value = scale
    checker.inputs["Color1"].default_value = (0.7, 0.62, 0.5, 1)
    checker.inputs["Color2"].default_value = (0.2, 0.26, 0.34, 1)
    tree.links.new(checker.outputs["Color"], tree.nodes["Principled BSDF"].inputs["Base Color"])
    return made


def keyed(thing, path, values, frames):
    for frame, value in zip(frames, values, strict=True):
        setattr(thing, path, value)
        thing.keyframe_insert(path, frame=frame)


def build(size=(64, 48), samples=4, frames=(1, 8)):
    """An empty Blender with the scene, all passes of light, two light groups and Cryptomatte."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.preferences.edit.keyframe_new_interpolation_type = "LINEAR"

    def add(kind, place, look, **more):
        getattr(bpy.ops.mesh, f"primitive_{kind}_add")(location=place, **more)
        thing = bpy.context.object
        thing.data.materials.append(look)
        return thing

    add("plane", (0, 0, 0), checks("floor", 20), size=9)
    cube = add("cube", (-1.1, 0.2, 0.6), material("cube", (0.75, 0.2, 0.12)), size=1.2)
    ball = add("uv_sphere", (0.9, -0.4, 0.5), material("ball", (0.9, 0.8, 0.6), 1.0, 0.15), radius=0.5, segments=32, ring_count=16)
    bpy.ops.object.shade_smooth()
    add("uv_sphere", (-0.1, -1.3, 0.4), material("glass", (0.95, 0.97, 1), 0, 0.02, 1), radius=0.4, segments=32, ring_count=16)
    bpy.ops.object.shade_smooth()
    add("plane", (1.9, 0.8, 0.9), material("veil", (0.2, 0.5, 0.7), alpha=0.5), size=1.6, rotation=(math.pi / 2, 0, 0.4))
    add("torus", (0.2, 2.2, 0.3), material("ring", (0.15, 0.35, 0.6), 0, 0.2), major_radius=0.6, minor_radius=0.22)
    scene = bpy.context.scene
    bpy.ops.object.light_add(type="AREA", location=(2.5, -2.5, 4), rotation=(0.6, 0.45, 0))
    key = bpy.context.object
    key.data.energy, key.data.size, key.lightgroup = 320, 0.8, "key"
    bpy.ops.object.light_add(type="POINT", location=(-3, 1, 2.5))
    fill = bpy.context.object
    fill.data.energy, fill.lightgroup = 60, "fill"
    bpy.ops.object.camera_add(location=(0.3, -6, 2.4), rotation=(1.25, 0, 0.03))
    camera = scene.camera = bpy.context.object
    camera.data.dof.use_dof, camera.data.dof.focus_distance, camera.data.dof.aperture_fstop = True, 6.0, 0.4
    keyed(camera, "location", [(-0.3, -6, 2.3), (0.6, -5.5, 2.5)], frames)
    keyed(cube, "rotation_euler", [(0, 0, 0), (0, 0, 1.1)], frames)
    keyed(ball, "location", [(0.3, -0.8, 0.5), (1.5, -0.2, 0.5)], frames)

    scene.world = bpy.data.worlds.new("dim")
    scene.world.lightgroup = "fill"
    scene.render.engine = "CYCLES"
    scene.cycles.device, scene.cycles.samples, scene.cycles.use_adaptive_sampling = "CPU", samples, False
    scene.cycles.max_bounces = 4
    scene.render.film_transparent = True
    scene.render.resolution_x, scene.render.resolution_y = size
    scene.render.resolution_percentage = 100
    scene.frame_start, scene.frame_end = frames
    view = scene.view_layers[0]
    view.name = "ViewLayer"
    for group in ("key", "fill"):
        view.lightgroups.add(name=group)
    passes(view)
    return scene


def passes(view):
    """All passes of light, and Cryptomatte."""
    for lobe in ("diffuse", "glossy", "transmission"):
        for part in ("direct", "indirect", "color"):
            setattr(view, f"use_pass_{lobe}_{part}", True)
    view.use_pass_emit = view.use_pass_environment = view.use_pass_cryptomatte_object = True
    view.cycles.use_pass_volume_direct = view.cycles.use_pass_volume_indirect = True
