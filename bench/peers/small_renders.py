"""Small renders with the layers that renderers write themselves: the files of crates/limpid-cli/tests/renders.

    python bench/peers/small_renders.py mitsuba FOLDER      (pip install mitsuba)
    python bench/peers/small_renders.py blender FOLDER      (pip install bpy)
"""

import sys

WIDTH, HEIGHT, SAMPLES = 32, 24, 4


def mitsuba(folder):
    import mitsuba as mi

    mi.set_variant("scalar_rgb")
    layers = {
        "mitsuba-aov": "dd.y:depth,nn:sh_normal,pos:position,idx:shape_index,alb:albedo",
        "mitsuba-dd": "dd:depth,nn:sh_normal,alb:albedo,idx:shape_index,gn:geo_normal,uv:uv,prim:prim_index",
    }
    for name, aovs in layers.items():
        scene = mi.cornell_box()
        film = scene["sensor"]["film"]
        film["width"], film["height"], film["rfilter"] = WIDTH, HEIGHT, {"type": "box"}
        scene["integrator"] = {"type": "aov", "aovs": aovs, "img": {"type": "path", "max_depth": 4}}
        scene = mi.load_dict(scene)
        mi.render(scene, spp=SAMPLES)
        scene.sensors()[0].film().bitmap().write(f"{folder}/{name}.exr")


def blender(folder):
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=False)
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.samples, scene.cycles.use_denoising = SAMPLES, False
    render = scene.render
    render.resolution_x, render.resolution_y, render.resolution_percentage = WIDTH, HEIGHT, 100
    view = scene.view_layers[0]
    view.use_pass_z = view.use_pass_normal = view.use_pass_vector = view.use_pass_object_index = True
    view.use_pass_ambient_occlusion = view.use_pass_diffuse_direct = True
    view.cycles.denoising_store_passes = True
    render.image_settings.media_type = "MULTI_LAYER_IMAGE"
    render.image_settings.file_format = "OPEN_EXR_MULTILAYER"
    render.image_settings.color_depth = "16"
    render.filepath = f"{folder}/blender-cycles.exr"
    bpy.ops.render.render(write_still=True)


if __name__ == "__main__":
    {"mitsuba": mitsuba, "blender": blender}[sys.argv[1]](sys.argv[2])
