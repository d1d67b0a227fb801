#!/usr/bin/env python3
"""Builds the Blender extension: the files of `extension`, and wheels of limpid as they are.

    python3 blender/build.py WHEEL... --output FOLDER

Makes one file per platform, `limpid-blender-VERSION-PLATFORM.zip`, from one wheel each, and prints their names. In Blender: Preferences, Get
Extensions, Install from Disk.
"""

import argparse
import pathlib
import re
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "extension"

#: Endings of the platform of a wheel, and what Blender calls it.
PLATFORMS = {
    ("linux", "x86_64"): "linux-x64",
    ("linux", "aarch64"): "linux-arm64",
    ("macosx", "x86_64"): "macos-x64",
    ("macosx", "arm64"): "macos-arm64",
    ("win", "amd64"): "windows-x64",
    ("win", "arm64"): "windows-arm64",
}


def platform(wheel):
    """Blender's name for the platform of a wheel, from the last part of its name."""
    tag = wheel.removesuffix(".whl").rsplit("-", 1)[-1]
    for (system, machine), name in PLATFORMS.items():
        if re.match(rf"(many|musl)?{system}", tag) and tag.endswith(machine):
            return name
    raise ValueError(f"{wheel}: no platform of Blender")


def version(manifest):
    return re.search(r'^version = "(.+)"$', manifest, re.M).group(1)


def completed(manifest, wheel):
    """The manifest with a wheel and its platform, which stand before the first table."""
    head, table, rest = manifest.partition("\n[permissions]")
    return f'{head}\nplatforms = ["{platform(wheel)}"]\nwheels = ["./wheels/{wheel}"]\n{table}{rest}'


def files():
    """Everything of the extension but its manifest."""
    kinds = {".py", ""}
    found = (path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sorted(path for path in found if path.suffix in kinds)


def build(wheel, folder):
    """One extension; gives its path."""
    manifest = (SOURCE / "blender_manifest.toml").read_text(encoding="utf-8")
    number = version(manifest)
    if wheel.name.split("-")[1] != number:
        raise ValueError(f"{wheel.name}: the extension has version {number}")
    path = folder / f"limpid-blender-{number}-{platform(wheel.name)}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(name, data):
            # Always the same time: the same sources give the same file.
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = 0o644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)

        add("blender_manifest.toml", completed(manifest, wheel.name))
        for file in files():
            add(file.relative_to(SOURCE).as_posix(), file.read_bytes())
        add(f"wheels/{wheel.name}", wheel.read_bytes())
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="+", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("."))
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    try:
        for wheel in args.wheels:
            print(build(wheel, args.output).name)
    except (OSError, ValueError) as error:
        sys.exit(f"build.py: {error}")


if __name__ == "__main__":
    main()
