# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels: in the render properties, and in the side bar of the image editor."""

import bpy

from . import operators


def draw(layout, context):
    settings = context.scene.limpid
    layout.use_property_split = True
    layout.use_property_decorate = False
    column = layout.column()
    column.operator("limpid.enable_passes", icon="RENDERLAYERS")
    column.operator("limpid.save_passes", icon="FILE_IMAGE")
    column = layout.column()
    column.prop(settings, "quality")
    column.prop(settings, "device")
    column.prop(settings, "strength")
    column.prop(settings, "folder")
    column.prop(settings, "source")
    column.prop(settings, "blend")
    column.prop(settings, "keep")
    job = operators.current
    if job is None:
        layout.operator("limpid.denoise_frame", icon="IMAGE_DATA")
        layout.operator("limpid.denoise_animation", icon="RENDER_ANIMATION")
    else:
        row = layout.row(align=True)
        row.progress(factor=job.progress, text=f"{job.finished} of {job.frames}")
        row.operator("limpid.cancel", text="", icon="CANCEL")
    row = layout.row(align=True)
    row.operator("limpid.before_after", icon="ARROW_LEFTRIGHT")
    row.operator("limpid.to_compositor", icon="NODE_COMPOSITING")


class LIMPID_PT_render(bpy.types.Panel):
    bl_label = "Limpid"
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "render"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return context.engine == "CYCLES"

    def draw(self, context):
        draw(self.layout, context)


class LIMPID_PT_image(bpy.types.Panel):
    bl_label = "Limpid"
    bl_space_type = "IMAGE_EDITOR"
    bl_region_type = "UI"
    bl_category = "Limpid"

    def draw(self, context):
        draw(self.layout, context)


CLASSES = (LIMPID_PT_render, LIMPID_PT_image)


def register():
    for item in CLASSES:
        bpy.utils.register_class(item)


def unregister():
    for item in reversed(CLASSES):
        bpy.utils.unregister_class(item)
