# SPDX-License-Identifier: GPL-3.0-or-later
"""What the buttons do. From scripts and without windows an operator returns when the work is done; from a button it works beside Blender."""

import os
import shutil
import tempfile

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, PointerProperty, StringProperty

from . import naming
from .process import Job

#: The job that runs, if one does.
current = None

#: How often Blender looks at the job, in seconds.
LOOK = 0.1


class LimpidSettings(bpy.types.PropertyGroup):
    """Kept with the scene."""

    quality: EnumProperty(
        name="Quality",
        description="How much time to spend",
        items=[
            ("fast", "Fast", "A small network: more error, in a third to half of the time"),
            ("good", "Good", "The default"),
            ("best", "Best", "The mean of four turned networks: less error, in four times the time"),
        ],
        default="good",
    )
    device: EnumProperty(
        name="Device",
        items=[
            ("auto", "Automatic", "A GPU if there is one"),
            ("gpu", "GPU", "Fails if there is no GPU"),
            ("cpu", "CPU", "All cores of the processor"),
        ],
        default="auto",
    )
    strength: FloatProperty(
        name="Strength", description="How much of the denoising to apply", default=1.0, min=0.0, max=1.0, subtype="FACTOR"
    )
    folder: StringProperty(
        name="Results", description="Folder for denoised files", default="//denoised/", subtype="DIR_PATH"
    )
    source: StringProperty(
        name="Renders",
        description="Saved frames, with #### for the number; empty: where the scene is rendered to",
        default="",
        subtype="FILE_PATH",
    )
    keep: BoolProperty(
        name="Keep Results", description="Leave out frames whose results are newer than the renders", default=False
    )
    blend: BoolProperty(
        name="Blend Frames",
        description="In animations: blend each frame with those before and after it, where they show the same; needs the pass Vector",
        default=True,
    )
    before: PointerProperty(type=bpy.types.Image)
    after: PointerProperty(type=bpy.types.Image)

    def options(self):
        """As limpid takes them."""
        return {"quality": self.quality, "device": self.device, "strength": self.strength}

    def results(self):
        """The folder for results, also for a scene that was never saved."""
        if self.folder.startswith("//") and not bpy.data.filepath:
            return os.path.join(bpy.app.tempdir or tempfile.gettempdir(), self.folder[2:])
        return bpy.path.abspath(self.folder)


class LIMPID_OT_enable_passes(bpy.types.Operator):
    """Enable the passes that Limpid uses in all view layers, and turn Cycles' own denoiser off"""

    bl_idname = "limpid.enable_passes"
    bl_label = "Enable Passes"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        scene = context.scene
        if scene.render.engine != "CYCLES":
            self.report({"ERROR"}, "The passes are those of Cycles: choose it as render engine")
            return {"CANCELLED"}
        scene.cycles.use_denoising = False
        for layer in scene.view_layers:
            layer.cycles.denoising_store_passes = True
            # Cycles has no vectors where it renders motion blur.
            layer.use_pass_vector = not scene.render.use_motion_blur
        return {"FINISHED"}


class LIMPID_OT_save_passes(bpy.types.Operator):
    """Render to OpenEXR MultiLayer files with full floats, which hold all passes"""

    bl_idname = "limpid.save_passes"
    bl_label = "Save All Passes"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        multilayer(context.scene.render.image_settings)
        return {"FINISHED"}


def multilayer(settings):
    """OpenEXR MultiLayer, without loss."""
    if hasattr(settings, "media_type"):
        settings.media_type = "MULTI_LAYER_IMAGE"
    settings.file_format = "OPEN_EXR_MULTILAYER"
    settings.color_depth = "32"
    settings.exr_codec = "ZIP"


def save_render(scene, path):
    """Saves the last render with all its passes."""
    settings = scene.render.image_settings
    names = [name for name in ("media_type", "file_format", "color_mode", "color_depth", "exr_codec") if hasattr(settings, name)]
    kept = {name: getattr(settings, name) for name in names}
    try:
        multilayer(settings)
        image = next(image for image in bpy.data.images if image.type == "RENDER_RESULT")
        image.save_render(path, scene=scene)
    finally:
        for name, value in kept.items():
            setattr(settings, name, value)


class Denoising:
    """What both operators share: a job that is waited for, or looked at now and then."""

    bl_options = {"REGISTER"}

    #: Whether frames are those of an animation.
    over_time = False

    _timer = None

    @classmethod
    def poll(cls, context):
        return current is None

    def begin(self, context):
        """Starts the job; false where there is nothing to do or something is wrong, which is then said."""
        global current
        settings = context.scene.limpid
        self._scratch = tempfile.mkdtemp(prefix="limpid-")
        self._targets = {}
        try:
            frames = self.frames(context, settings, self._scratch)
            current = Job(frames, settings.options(), self.over_time and settings.blend) if frames else None
        except (OSError, ValueError, RuntimeError, ImportError, StopIteration) as error:
            self.report({"ERROR"}, str(error) or "There is no render: render first")
            frames = []
        if not frames:
            self.tidy(context)
        return bool(frames)

    def execute(self, context):
        if not self.begin(context):
            return {"CANCELLED"}
        try:
            self.note(current.wait())
        except KeyboardInterrupt:
            current.stop()
        return self.end(context)

    def invoke(self, context, event):
        if bpy.app.background or context.window is None:
            return self.execute(context)
        if not self.begin(context):
            return {"CANCELLED"}
        manager = context.window_manager
        self._timer = manager.event_timer_add(LOOK, window=context.window)
        manager.progress_begin(0, 100)
        manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if current is None:
            # The extension was turned off.
            self.tidy(context)
            return {"CANCELLED"}
        if event.type == "ESC" and event.value == "PRESS":
            current.stop()
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        self.note(current.poll())
        context.window_manager.progress_update(100 * current.progress)
        redraw(context)
        return self.end(context) if current.ended else {"PASS_THROUGH"}

    def cancel(self, context):
        # Blender is closed, or another file is opened.
        self.tidy(context)

    def note(self, events):
        """Keeps which results are there."""
        for event in events:
            if event["event"] == "done":
                self._targets[event["frame"]] = event["target"]

    def end(self, context):
        """Says how it went, and shows the result."""
        job, stopped = current, current.stopping is not None
        self.tidy(context)
        for message in job.notes:
            self.report({"WARNING"}, message)
        for message in job.errors:
            self.report({"ERROR"}, message)
        if self._targets:
            self.show(context)
        if stopped:
            self.report({"WARNING"}, f"Stopped: {len(self._targets)} of {job.frames} frames are done")
        elif not job.errors:
            self.report({"INFO"}, f"Denoised: {next(iter(self._targets.values()))}")
        return {"FINISHED"} if self._targets and not stopped and not job.errors else {"CANCELLED"}

    def tidy(self, context):
        """Nothing is left behind: no process, no timer, no file in between."""
        global current
        if current is not None:
            current.close()
            current = None
        if self._timer is not None:
            context.window_manager.event_timer_remove(self._timer)
            context.window_manager.progress_end()
            self._timer = None
        shutil.rmtree(self._scratch, ignore_errors=True)
        redraw(context)


class LIMPID_OT_denoise_frame(Denoising, bpy.types.Operator):
    """Denoise the last render with all its passes, and show the result in the image editor"""

    bl_idname = "limpid.denoise_frame"
    bl_label = "Denoise Frame"

    def frames(self, context, settings, scratch):
        scene = context.scene
        frame = scene.frame_current
        source = os.path.join(scratch, "render.exr")
        save_render(scene, source)
        if not os.path.exists(source):
            raise RuntimeError("There is no render: render first")
        name = os.path.splitext(os.path.basename(bpy.data.filepath))[0] or "render"
        target = os.path.join(settings.results(), f"{name}_{frame:04}.exr")
        return [{"frame": frame, "source": source, "target": target}]

    def show(self, context):
        settings = context.scene.limpid
        settings.before = next(image for image in bpy.data.images if image.type == "RENDER_RESULT")
        settings.after = opened(next(iter(self._targets.values())))
        show(context, settings.after)


class LIMPID_OT_denoise_animation(Denoising, bpy.types.Operator):
    """Denoise the saved OpenEXR MultiLayer files of all frames of the scene"""

    bl_idname = "limpid.denoise_animation"
    bl_label = "Denoise Animation"

    over_time = True

    def frames(self, context, settings, scratch):
        scene = context.scene
        numbers = range(scene.frame_start, scene.frame_end + 1, scene.frame_step)
        if settings.source:
            pattern = bpy.path.abspath(settings.source)
            self._sources = {n: naming.numbered(pattern, n) for n in numbers}
        elif scene.render.image_settings.file_format != "OPEN_EXR_MULTILAYER":
            raise ValueError("The output format of the scene is not OpenEXR MultiLayer: use Save All Passes and render, or name the files")
        else:
            self._sources = {n: bpy.path.abspath(scene.render.frame_path(frame=n)) for n in numbers}
        jobs, missing = naming.jobs(self._sources, settings.results(), settings.keep)
        if missing:
            first = self._sources[missing[0]]
            raise ValueError(f"Frames {naming.ranges(missing)} are not there ({first}): render them first")
        if not jobs:
            self.report({"INFO"}, "All frames are done")
        return jobs

    def show(self, context):
        settings = context.scene.limpid
        first, last = min(self._targets), max(self._targets)
        for name, path in (("before", self._sources[first]), ("after", self._targets[first])):
            image = opened(path)
            if last > first:
                image.source = "SEQUENCE"
            setattr(settings, name, image)
        show(context, settings.after)


def opened(path):
    """The image of a file, loaded again if it was there."""
    image = bpy.data.images.load(path, check_existing=True)
    image.reload()
    # With the view transform of the scene, as the render is shown.
    image.use_view_as_render = True
    return image


def editors(context):
    """All image editors that show pictures."""
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "IMAGE_EDITOR":
                yield area.spaces.active


def show(context, image):
    """Shows an image in the image editors, with the frame of the scene."""
    scene = context.scene
    for space in editors(context):
        space.image = image
        if image.source == "SEQUENCE":
            user = space.image_user
            user.frame_start = scene.frame_start
            user.frame_duration = scene.frame_end - scene.frame_start + 1
            user.frame_offset = scene.frame_start - 1
            user.use_auto_refresh = True


def redraw(context):
    """Bars of progress are drawn again."""
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            if area.type in {"IMAGE_EDITOR", "PROPERTIES"}:
                area.tag_redraw()


class LIMPID_OT_cancel(bpy.types.Operator):
    """Stop denoising; frames that are done stay"""

    bl_idname = "limpid.cancel"
    bl_label = "Cancel"

    @classmethod
    def poll(cls, context):
        return current is not None

    def execute(self, context):
        current.stop()
        return {"FINISHED"}


class LIMPID_OT_before_after(bpy.types.Operator):
    """Switch between the render and the denoised image"""

    bl_idname = "limpid.before_after"
    bl_label = "Before / After"

    @classmethod
    def poll(cls, context):
        return context.scene.limpid.after is not None

    def execute(self, context):
        settings = context.scene.limpid
        space = context.space_data
        shown = space.image if space is not None and space.type == "IMAGE_EDITOR" else None
        image = settings.before if shown == settings.after and settings.before is not None else settings.after
        show(context, image)
        return {"FINISHED"}


class LIMPID_OT_to_compositor(bpy.types.Operator):
    """Add the denoised image with all its passes as a node to the compositor"""

    bl_idname = "limpid.to_compositor"
    bl_label = "Add to Compositor"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return context.scene.limpid.after is not None

    def execute(self, context):
        scene = context.scene
        node = compositor(scene).nodes.new("CompositorNodeImage")
        node.label = "Denoised"
        node.image = scene.limpid.after
        if node.image.source == "SEQUENCE":
            node.frame_start = scene.frame_start
            node.frame_duration = scene.frame_end - scene.frame_start + 1
            node.frame_offset = scene.frame_start - 1
            node.use_auto_refresh = True
        return {"FINISHED"}


def compositor(scene):
    """The node tree of the compositor: Blender 5.0 has a node group for it."""
    if not hasattr(scene, "compositing_node_group"):
        scene.use_nodes = True
        return scene.node_tree
    if scene.compositing_node_group is None:
        scene.compositing_node_group = bpy.data.node_groups.new("Compositing", "CompositorNodeTree")
    return scene.compositing_node_group


CLASSES = (
    LimpidSettings,
    LIMPID_OT_enable_passes,
    LIMPID_OT_save_passes,
    LIMPID_OT_denoise_frame,
    LIMPID_OT_denoise_animation,
    LIMPID_OT_cancel,
    LIMPID_OT_before_after,
    LIMPID_OT_to_compositor,
)


def register():
    for item in CLASSES:
        bpy.utils.register_class(item)
    bpy.types.Scene.limpid = PointerProperty(type=LimpidSettings)


def unregister():
    global current
    if current is not None:
        current.close()
        current = None
    del bpy.types.Scene.limpid
    for item in reversed(CLASSES):
        bpy.utils.unregister_class(item)
