import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SpikingLayer(nn.Module):
    def __init__(self, n_in, n_out, alpha=0.9):
        super().__init__()
        self.fc = nn.Linear(n_in, n_out)
        self.rec = nn.Linear(n_out, n_out, bias=False)
        self.alpha = alpha
        self.state = None

    def reset(self):
        self.state = None

    def detach_state(self):
        if self.state is not None:
            self.state = self.state.detach()

    def forward(self, x):
        if self.state is None:
            self.state = torch.zeros(x.shape[0], self.fc.out_features)
        self.state = self.alpha * self.state + (1 - self.alpha) * torch.tanh(self.fc(x) + self.rec(self.state))
        return self.state


class SequentialRNN(nn.Module):
    def __init__(self, sizes=(4, 24, 24, 2)):
        super().__init__()
        self.layers = nn.ModuleList(SpikingLayer(a, b) for a, b in zip(sizes[:-2], sizes[1:-1]))
        self.readout = nn.Linear(sizes[-2], sizes[-1])

    def reset(self):
        for layer in self.layers:
            layer.reset()

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.readout(x)


class TBPTT:
    def __init__(self, model, backward_time_steps=8):
        self.model, self.steps = model, backward_time_steps
        self.optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def run_sequence(self, xs, ys):
        self.model.reset()
        losses, total = [], 0.0
        for t, (x, y) in enumerate(zip(xs, ys)):
            losses.append(F.mse_loss(self.model(x), y))
            if (t + 1) % self.steps == 0:
                loss = torch.stack(losses).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.model.layers[-1].detach_state()
                total += loss.item()
                losses = []
        return total * self.steps / len(xs)


def sequence(n=16, length=32):
    xs = torch.randn(length, n, 4)
    ys = torch.zeros(length, n, 2)
    for t in range(1, length):
        ys[t] = 0.8 * ys[t - 1] + 0.2 * xs[t, :, :2]
    return xs, ys


trainer = TBPTT(SequentialRNN())
for it in range(60):
    loss = trainer.run_sequence(*sequence())
    if it % 15 == 14:
        print(f"iteration {it + 1}  loss {loss:.4f}")
