"""What train.py needs to know of single pictures."""

import torch

import data
import export
import model
from error import Means, loss_of

Pool, batch = data.Pool, data.batch


def network(form, weights):
    net = model.Guides(model.FORMS[form])
    if weights:
        net.begin_with(export.load(weights).state_dict())
    return net


def load(path):
    return export.load(path)


def loss(net, color, albedo, normal, depth, reference, amp):
    return loss_of(model.denoise(net, color, albedo, normal, depth, amp), reference)


@torch.no_grad()
def validate(net, pool, amp):
    """Geometric means of the trimmed relMSE as text: for gardens and for other scenes at 1 to 8 samples, at 1 to 8 and 16 to 256 of
    the second input, of accumulated history, and of colour alone; in brackets those of the noisy image."""
    means = Means()
    state = torch.random.get_rng_state(), torch.cuda.get_rng_state() if amp else None
    torch.manual_seed(1)  # the same histories every time
    for i in range(pool.filled):
        b = pool.images[i : i + 1].permute(0, 3, 1, 2).float()
        r, counts = b[:, 20:23], int(b[0, 23, 0, 0])
        few, many = b[:, :10], b[:, 10:20]
        alone = torch.cat([few[:, :3], torch.zeros_like(few[:, 3:])], 1)
        inputs = {"few": few, "many" if counts // 16 % 16 >= 4 else "more": many}
        inputs |= {"history": data.history(few, many), "alone": alone}
        for name, x in inputs.items():
            y = model.denoise(net, x[:, 0:3], x[:, 3:6], x[:, 6:9], x[:, 9:10], amp)
            means.add(("garden " if counts // 256 == 3 else "other ") + name, y, x[:, 0:3], r)
    torch.random.set_rng_state(state[0])
    if amp:
        torch.cuda.set_rng_state(state[1])
    return means.text()
