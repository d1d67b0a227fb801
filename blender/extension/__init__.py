# SPDX-License-Identifier: GPL-3.0-or-later
"""Limpid in Blender: denoises renders of Cycles with all their passes, in a process of its own.

Only `operators` and `panel` know Blender; the other modules run in any Python.
"""


def register():
    from . import operators, panel

    operators.register()
    panel.register()


def unregister():
    from . import operators, panel

    panel.unregister()
    operators.unregister()
