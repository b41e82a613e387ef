import math
import random

import torch
import torch.nn as nn

torch.manual_seed(17)
random.seed(17)
NODES, HIST, HORIZON = 12, 8, 8


def ring_graph():
    a = torch.zeros(NODES, NODES)
    for i in range(NODES):
        a[i, (i - 1) % NODES] = 1.0
        a[i, (i + 3) % NODES] = 0.5
    return a / a.sum(1, keepdim=True)


def traffic(n, adj):
    phase = torch.rand(n, 1) * 2 * math.pi
    rate = 0.3 + 0.4 * torch.rand(n, 1)
    state = torch.randn(n, NODES)
    rows = []
    for t in range(HIST + HORIZON):
        drive = torch.sin(phase + rate * t + torch.arange(NODES) * 0.5)
        state = 0.55 * state + 0.45 * state @ adj.T + 0.5 * drive + 0.03 * torch.randn(n, NODES)
        rows.append(state)
    return torch.stack(rows, 0).unsqueeze(-1)


class GraphGRUCell(nn.Module):
    def __init__(self, nin, nh, adj):
        super().__init__()
        self.register_buffer("adj", adj)
        self.gates = nn.Linear(2 * (nin + nh), 2 * nh)
        self.cand = nn.Linear(2 * (nin + nh), nh)

    def diffuse(self, z):
        return torch.cat([z, torch.einsum("ij,njf->nif", self.adj, z)], -1)

    def forward(self, x, h):
        r, u = torch.sigmoid(self.gates(self.diffuse(torch.cat([x, h], -1)))).chunk(2, -1)
        c = torch.tanh(self.cand(self.diffuse(torch.cat([x, r * h], -1))))
        return u * h + (1 - u) * c


class GraphRNN(nn.Module):
    def __init__(self, adj, nh=32):
        super().__init__()
        self.nh = nh
        self.encoder = GraphGRUCell(1, nh, adj)
        self.decoder = GraphGRUCell(1, nh, adj)
        self.project = nn.Linear(nh, 1)

    def forward(self, past, future, teacher_prob):
        h = past.new_zeros(past.shape[1], NODES, self.nh)
        for x in past:
            h = self.encoder(x, h)
        out, preds = past[-1], []
        for i in range(HORIZON):
            if self.training and random.random() < teacher_prob:
                inp = future[i - 1] if i > 0 else past[-1]
            else:
                inp = out
            h = self.decoder(inp, h)
            out = self.project(h)
            preds.append(out)
        return torch.stack(preds)


adj = ring_graph()
data, test = traffic(800, adj), traffic(300, adj)
model = GraphRNN(adj)
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(12):
    model.train()
    total = 0.0
    for idx in torch.randperm(800).split(50):
        batch = data[:, idx]
        pred = model(batch[:HIST], batch[HIST:], teacher_prob=0.9)
        loss = (pred - batch[HIST:]).abs().mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        total += loss.item() / 16
    model.eval()
    with torch.no_grad():
        mae = (model(test[:HIST], test[HIST:], 0.0) - test[HIST:]).abs().mean().item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1:2d} train mae {total:.4f} test mae {mae:.4f}")
print(f"train mae {total:.4f}  test mae {mae:.4f}  mean size {test[HIST:].abs().mean().item():.3f}")
