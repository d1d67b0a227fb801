"""What all tests share: the extension as a package, whether or not there is a Blender."""

import pathlib
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "blender"))
