"""What all training shares: the log, networks that learn side by side, their averages and checkpoints."""

import json
import math
import os
import time

import torch


def arguments(p):
    """Options of every training."""
    p.add_argument("--output", required=True)
    p.add_argument("--resume", help="output folder of a run to go on from")
    p.add_argument("--steps", type=int, default=0, help="stop after so many steps")
    p.add_argument("--rate", type=float, default=1.5e-3)
    p.add_argument("--logs", type=int, default=16, help="validations on the way")
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    p.add_argument("--seed", type=int, default=1, help="of the weights and of the batches")


class Log:
    """Lines with the seconds since the start, on the screen and in log.txt of a folder."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.file = open(f"{folder}/log.txt", "a")
        self.began = time.time()

    def seconds(self):
        return time.time() - self.began

    def __call__(self, *text):
        line = f"{self.seconds():6.1f}s " + " ".join(str(t) for t in text)
        print(line, flush=True)
        self.file.write(line + "\n")
        self.file.flush()

    def settings(self, a):
        self(json.dumps(vars(a)), torch.__version__, torch.cuda.get_device_name() if a.device == "cuda" else "cpu")


def fast():
    """Matrix products of the network need not be exact."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = True


def write(state, path):
    """The file is there as a whole or not at all."""
    torch.save(state, path + ".part")
    os.replace(path + ".part", path)


class Pace:
    """Learning rate and decay of the average, which recorded steps read from the device."""

    def __init__(self, device):
        self.rate = torch.zeros((), device=device)  # the steps before the recording change nothing
        self.decay = torch.tensor(0.99, device=device)

    def set(self, rate, steps, along):
        """One cosine over the whole way, after a thousand steps of growing rates."""
        self.rate.fill_(rate * min(1.0, (steps + 1) / 1000) * (0.5 * (1 + math.cos(math.pi * along)) + 0.005))
        self.decay.fill_(min(0.9995, 1 - 1 / (steps / 10 + 2)))


class Trainer:
    """A network with its moving average."""

    def __init__(self, form, make, loss, pace, a, log, betas):
        torch.manual_seed(a.seed)
        cuda = a.device == "cuda"
        place = lambda n: n.to(a.device).to(memory_format=torch.channels_last)
        self.form, self.net, self.average = form, *(place(make(form)) for _ in range(2))
        self.average.load_state_dict(self.net.state_dict())
        self.average.requires_grad_(False)
        self.loss, self.pace, self.folder = loss, pace, f"{a.output}/{form}"
        self.weights, self.averages = list(self.net.parameters()), list(self.average.parameters())
        self.optimizer = torch.optim.AdamW(
            self.weights, pace.rate, betas=betas, weight_decay=1e-4, fused=cuda, capturable=cuda
        )
        self.recent = torch.zeros((), device=a.device)
        self.stream = torch.cuda.Stream() if cuda else None
        count = sum(x.numel() for x in self.weights)
        log(f"{form}: {count} parameters, {self.net.multiplications():.0f} multiplications per pixel")

    def step(self, *batch):
        loss = self.loss(self.net, *batch)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        with torch.no_grad():
            grads = [w.grad.nan_to_num_(0, 0, 0) for w in self.weights]
            norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads)))
            torch._foreach_mul_(grads, (1 / (norm + 1e-6)).clamp(max=1))
            self.optimizer.step()
            decay = self.pace.decay
            torch._foreach_mul_(self.averages, decay)
            torch._foreach_add_(self.averages, torch._foreach_mul(self.weights, 1 - decay))
            self.recent.lerp_(loss.detach().nan_to_num(), 0.01)

    def save(self, **counts):
        """The average, and what is needed to go on."""
        os.makedirs(self.folder, exist_ok=True)
        cpu = lambda n: {k: v.cpu().contiguous() for k, v in n.state_dict().items()}
        write(cpu(self.average), f"{self.folder}/weights.pt")
        state = {"net": cpu(self.net), "average": cpu(self.average), "optimizer": self.optimizer.state_dict()}
        write(state | counts, f"{self.folder}/checkpoint.pt")

    def resume(self, output):
        """Goes on from the run in a folder. Returns what was saved with it."""
        path = f"{output}/{self.form}/checkpoint.pt"
        saved = torch.load(path, map_location=self.pace.rate.device, weights_only=True)
        self.net.load_state_dict(saved["net"])
        self.average.load_state_dict(saved["average"])
        self.optimizer.load_state_dict(saved["optimizer"])
        for group in self.optimizer.param_groups:
            group["lr"] = self.pace.rate
        return saved


def step(trainers, *batch):
    """One batch for all networks, on a GPU each on a stream of its own."""
    if trainers[0].stream is None:
        for t in trainers:
            t.step(*batch)
        return
    main = torch.cuda.current_stream()
    for t in trainers:
        t.stream.wait_stream(main)
        with torch.cuda.stream(t.stream):
            t.step(*batch)
    for t in trainers:
        main.wait_stream(t.stream)


def warm(runs, run):
    """Runs a few times beside the main stream, as a recording needs it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(runs):
            run()
    torch.cuda.current_stream().wait_stream(side)


def recorded(run, trainers=()):
    """What a function does on the GPU, as one graph to replay."""
    for t in trainers:
        t.optimizer.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay
