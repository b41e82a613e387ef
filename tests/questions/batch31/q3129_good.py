import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)


class ClassErrorMeter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.correct, self.n = 0, 0

    def add(self, output, target):
        self.correct += (output.argmax(1) == target).sum().item()
        self.n += len(target)

    def value(self):
        return 100.0 * (1 - self.correct / self.n)


class AverageValueMeter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.total, self.n = 0.0, 0

    def add(self, v):
        self.total += v
        self.n += 1

    def value(self):
        return self.total / self.n


class Engine:
    def __init__(self):
        self.hooks = {}

    def hook(self, name, state):
        if name in self.hooks:
            self.hooks[name](state)

    def train(self, network, iterator, maxepoch, optimizer):
        state = {"network": network, "iterator": iterator, "maxepoch": maxepoch, "epoch": 0, "train": True}
        while state["epoch"] < maxepoch:
            self.hook("on_start_epoch", state)
            for sample in iterator:
                state["sample"] = sample
                optimizer.zero_grad()
                state["loss"], state["output"] = network(sample)
                state["loss"].backward()
                self.hook("on_forward", state)
                optimizer.step()
            state["epoch"] += 1
            self.hook("on_end_epoch", state)

    @torch.no_grad()
    def test(self, network, iterator):
        state = {"network": network, "iterator": iterator, "train": False}
        for sample in iterator:
            state["sample"] = sample
            state["loss"], state["output"] = network(sample)
            self.hook("on_forward", state)


means = torch.randn(6, 30) * 0.45
y = torch.randint(6, (900,))
x = means[y] + torch.randn(900, 30)
train_iter = DataLoader(TensorDataset(x[:600], y[:600]), batch_size=50, shuffle=True)
test_iter = DataLoader(TensorDataset(x[600:], y[600:]), batch_size=50)
model = nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Linear(128, 6))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)


def h(sample):
    out = model(sample[0])
    return F.cross_entropy(out, sample[1]), out


engine = Engine()
meter_loss, classerr = AverageValueMeter(), ClassErrorMeter()


def on_forward(state):
    classerr.add(state["output"], state["sample"][1])
    meter_loss.add(state["loss"].item())


def on_start_epoch(state):
    classerr.reset()
    meter_loss.reset()


def on_end_epoch(state):
    print(f"[Epoch {state['epoch']}] Training Loss: {meter_loss.value():.4f} Training Accuracy: {100 - classerr.value():.2f}%")
    meter_loss.reset()
    classerr.reset()
    engine.test(h, test_iter)
    print(f"[Epoch {state['epoch']}] Testing Loss: {meter_loss.value():.4f} Testing Accuracy: {100 - classerr.value():.2f}%")


engine.hooks = {"on_forward": on_forward, "on_start_epoch": on_start_epoch, "on_end_epoch": on_end_epoch}
engine.train(h, train_iter, maxepoch=8, optimizer=optimizer)
