#!/usr/bin/env python3
"""Packs the plugin as a wheel that pip installs beside VapourSynth, where it is found without a word in the script.

    cargo build --release -p limpid-vapoursynth
    python3 crates/limpid-vapoursynth/wheel.py target/release/liblimpid_vapoursynth.so --output dist
    pip install dist/vapoursynth_limpid-*.whl
"""

import argparse
import base64
import hashlib
import os
import re
import sysconfig
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = "vapoursynth/plugins/limpid"


def version():
    """That of the workspace."""
    with open(os.path.join(HERE, "../../Cargo.toml"), encoding="utf-8") as file:
        return re.search(r'^version = "(.*)"', file.read(), re.MULTILINE)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="the built library: .so, .dylib or .dll")
    parser.add_argument("--output", default="dist", help="folder of the wheel")
    parser.add_argument("--platform", default=sysconfig.get_platform(), help="such as manylinux_2_28_x86_64")
    args = parser.parse_args()
    tag = f"py3-none-{re.sub('[-.]', '_', args.platform)}"
    info = f"vapoursynth_limpid-{version()}.dist-info"
    with open(args.library, "rb") as file:
        library = file.read()
    name = os.path.basename(args.library)
    files = {
        f"{FOLDER}/{name}": library,
        # Without it, every library in the folder would be taken for a plugin.
        f"{FOLDER}/manifest.vs": f"[VapourSynth Manifest V1]\n{os.path.splitext(name)[0]}\n".encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: limpid\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
    }
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
        files[f"{info}/METADATA"] = (
            f"Metadata-Version: 2.4\nName: vapoursynth-limpid\nVersion: {version()}\nSummary: Removes noise from films, fast\n"
            "License-Expression: MIT OR Apache-2.0\nRequires-Python: >=3.12\nRequires-Dist: vapoursynth>=75\n"
            f"Description-Content-Type: text/markdown\n\n{file.read()}"
        ).encode()
    for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
        with open(os.path.join(HERE, licence), "rb") as file:
            files[f"{info}/licenses/{licence}"] = file.read()
    digest = lambda data: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    record = "".join(f"{path},sha256={digest(data)},{len(data)}\n" for path, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    os.makedirs(args.output, exist_ok=True)
    wheel = os.path.join(args.output, f"vapoursynth_limpid-{version()}-{tag}.whl")
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as file:
        for path, data in files.items():
            file.writestr(path, data)
    print(wheel)


if __name__ == "__main__":
    main()
