import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)

CLIENTS, FEATURES = 4, 10
w_common = torch.randn(FEATURES)
w_own = [1.5 * torch.randn(FEATURES) for _ in range(CLIENTS)]


def client_data(k, n):
    x = torch.randn(n, FEATURES)
    return x, x @ (w_common + w_own[k])


def add_model(dst, src):
    with torch.no_grad():
        params = dict(src.named_parameters())
        for name, p in dst.named_parameters():
            p.add_(params[name])
    return dst


def scale_model(model, factor):
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(factor)
    return model


def federated_avg(models):
    models = list(models.values())
    model = copy.deepcopy(models[0])
    for other in models[1:]:
        model = add_model(model, other)
    return scale_model(model, 1.0 / len(models))


def make_net():
    return nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, 1))


train = [client_data(k, 256) for k in range(CLIENTS)]
test = [client_data(k, 256) for k in range(CLIENTS)]
start = make_net()
clients = {k: copy.deepcopy(start) for k in range(CLIENTS)}
optimizers = {k: torch.optim.SGD(clients[k].parameters(), lr=0.02) for k in clients}


def test_loss(model, k):
    with torch.no_grad():
        x, y = test[k]
        return F.mse_loss(model(x).squeeze(1), y).item()


for rnd in range(8):
    for k, model in clients.items():
        for _ in range(2):
            for idx in torch.randperm(256).split(32):
                x, y = train[k][0][idx], train[k][1][idx]
                loss = F.mse_loss(model(x).squeeze(1), y)
                optimizers[k].zero_grad()
                loss.backward()
                optimizers[k].step()
    averaged = federated_avg(clients)
    own = [test_loss(clients[k], k) for k in clients]
    shared = sum(test_loss(averaged, k) for k in clients) / CLIENTS
    print(f"round {rnd}: own models on own data", [round(v, 2) for v in own], f"averaged model {shared:.2f}")
