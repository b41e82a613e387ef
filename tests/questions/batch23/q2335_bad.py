import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(3)
rng = np.random.default_rng(3)
STEPS = 7
N_CELLS = 2 ** (STEPS - 1)


def grow_embryo():
    birth, parent, pos = [0], [-1], [rng.normal(0, 0.3, 3)]
    for t in range(1, STEPS):
        alive = len(birth)
        for c in rng.permutation(alive):
            birth.append(t)
            parent.append(int(c))
            pos.append(pos[c] + rng.normal(0, 1.2, 3))
    birth, parent = np.array(birth), np.array(parent)
    drift = np.array([0.25, -0.1, 0.15])
    track = np.stack([np.stack(pos) * (1 + 0.12 * t) + drift * t for t in range(STEPS)])
    return birth, parent, track.astype(np.float32)


def snapshot(birth, parent, track, t):
    alive = birth <= t
    feats = np.zeros((len(birth), 4), dtype=np.float32)
    feats[alive, :3] = track[t][alive]
    feats[alive, 3] = (t - birth[alive] + 1) / STEPS
    adj = np.zeros((len(birth), len(birth)), dtype=np.float32)
    for c in np.where(alive)[0]:
        adj[c, c] = 1
        if parent[c] >= 0:
            adj[c, parent[c]] = adj[parent[c], c] = 1
    adj /= np.clip(adj.sum(1, keepdims=True), 1, None)
    return torch.from_numpy(feats), torch.from_numpy(adj)


class LineageNet(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.self1, self.nb1 = nn.Linear(4, hidden), nn.Linear(4, hidden)
        self.self2, self.nb2 = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.xyz = nn.Linear(hidden, 3)

    def forward(self, x, adj):
        h = torch.relu(self.self1(x) + self.nb1(adj @ x))
        h = torch.relu(self.self2(h) + self.nb2(adj @ h))
        return self.xyz(h)


def cell_mask(birth, t):
    return torch.from_numpy(birth <= t)


train_set = [grow_embryo() for _ in range(30)]
test_set = [grow_embryo() for _ in range(10)]
net = LineageNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
mse = nn.MSELoss()

for epoch in range(25):
    running, n = 0.0, 0
    for i in rng.permutation(len(train_set)):
        birth, parent, track = train_set[i]
        for t in range(1, STEPS - 1):
            x, adj = snapshot(birth, parent, track, t)
            pred_xyz = net(x, adj)
            target = torch.from_numpy(track[t + 1])
            mask_next = cell_mask(birth, t + 1)
            loss = mse(pred_xyz[mask_next], target[mask_next])
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item()
            n += 1
    if epoch % 6 == 0 or epoch == 24:
        print(f"epoch {epoch:2d}  train xyz loss {running / n:.4f}")

with torch.no_grad():
    err = []
    for birth, parent, track in test_set:
        for t in range(1, STEPS - 1):
            x, adj = snapshot(birth, parent, track, t)
            seen = torch.from_numpy(birth <= t)
            err.append((net(x, adj)[seen] - torch.from_numpy(track[t + 1])[seen]).norm(dim=1).mean().item())
print(f"test mean distance of tracked cells {np.mean(err):.4f}")
