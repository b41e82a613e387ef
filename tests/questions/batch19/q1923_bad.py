import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(0)
rng = np.random.default_rng(0)

N_TRAIN, N_TEST, DIM = 64, 20, 20
WAY, SHOT, QUERY = 5, 1, 10
centers = rng.normal(size=(N_TRAIN + N_TEST, DIM)).astype(np.float32)


def draw(cls, n):
    return centers[cls] + 1.8 * rng.normal(size=(n, DIM)).astype(np.float32)


def sample_task(pool):
    chosen = rng.choice(pool, WAY, replace=False)
    support_x = np.concatenate([draw(c, SHOT) for c in chosen])
    support_c = np.repeat(chosen, SHOT)
    query_x = np.concatenate([draw(c, QUERY) for c in chosen])
    query_c = np.repeat(chosen, QUERY)
    unique = np.unique(support_c)
    support_y = np.zeros(len(support_c), dtype=np.int64)
    query_y = np.zeros(len(query_c), dtype=np.int64)
    for idx, c in enumerate(unique):
        support_y[support_c == c] = idx
        query_y[query_c == c] = idx
    return (torch.from_numpy(support_x), torch.from_numpy(support_y),
            torch.from_numpy(query_x), torch.from_numpy(query_y))


net = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, WAY))
meta_opt = torch.optim.Adam(net.parameters(), lr=2e-3)
INNER_LR, INNER_STEPS = 0.1, 2


def adapt(sx, sy):
    weights = dict(net.named_parameters())
    for _ in range(INNER_STEPS):
        loss = F.cross_entropy(functional_call(net, weights, (sx,)), sy)
        grads = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        weights = {k: w - INNER_LR * g for (k, w), g in zip(weights.items(), grads)}
    return weights


def evaluate(pool, tasks=400):
    before, after = [], []
    for _ in range(tasks):
        sx, sy, qx, qy = sample_task(pool)
        with torch.no_grad():
            before.append((net(qx).argmax(1) == qy).float().mean().item())
        weights = adapt(sx, sy)
        with torch.no_grad():
            after.append((functional_call(net, weights, (qx,)).argmax(1) == qy).float().mean().item())
    return np.mean(before), np.mean(after)


train_pool, test_pool = np.arange(N_TRAIN), np.arange(N_TRAIN, N_TRAIN + N_TEST)
for it in range(1200):
    meta_loss = 0.0
    for _ in range(4):
        sx, sy, qx, qy = sample_task(train_pool)
        weights = adapt(sx, sy)
        meta_loss = meta_loss + F.cross_entropy(functional_call(net, weights, (qx,)), qy) / 4
    meta_opt.zero_grad()
    meta_loss.backward()
    meta_opt.step()
    if it % 300 == 0:
        print(f"iter {it:4d}  meta loss {meta_loss.item():.3f}")

for name, pool in (("train classes", train_pool), ("new classes", test_pool)):
    b, a = evaluate(pool)
    print(f"{name}: accuracy before adaptation {b:.3f}, after {a:.3f}")
