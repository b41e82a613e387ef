import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(12, 32)
        self.fc2 = nn.Linear(32, 5)

    def forward(self, x):
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


def add_model(dst_model, src_model):
    with torch.no_grad():
        for dst, src in zip(dst_model.parameters(), src_model.parameters(), strict=True):
            dst.add_(src)
    return dst_model


def scale_model(model, scale):
    with torch.no_grad():
        for param in model.parameters():
            param.mul_(scale)
    return model


def federated_avg(models):
    model_list = list(models.values())
    model = type(model_list[0])()
    for local in model_list:
        model = add_model(model, local)
    return scale_model(model, 1.0 / len(model_list))


def make_workers(samples=200):
    torch.manual_seed(0)
    centres = 0.9 * torch.randn(5, 12)
    data = {}
    for name in ("alice", "bob"):
        y = torch.randint(5, (samples,))
        data[name] = (centres[y] + torch.randn(samples, 12), y)
    y = torch.randint(5, (1000,))
    return data, (centres[y] + torch.randn(1000, 12), y)


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    data, (test_x, test_y) = make_workers()
    model = Net()
    for round_number in range(1, 8):
        models = {}
        for name, (x, y) in data.items():
            local = copy.deepcopy(model)
            optimizer = torch.optim.SGD(local.parameters(), lr=0.05)
            for _ in range(2):
                for rows in torch.randperm(len(x)).split(20):
                    loss = F.nll_loss(local(x[rows]), y[rows])
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
            models[name] = local
        model = federated_avg(models)
        mean = torch.stack([m.fc1.weight.detach() for m in models.values()]).mean(0)
        local_acc = sum(accuracy(m, test_x, test_y) for m in models.values()) / len(models)
        print(
            f"round {round_number}: accuracy of the local models {local_acc:.4f}, of the averaged model"
            f" {accuracy(model, test_x, test_y):.4f}; fc1[0, 0] {model.fc1.weight[0, 0].item():+.4f},"
            f" mean of the local ones {mean[0, 0].item():+.4f}"
        )


if __name__ == "__main__":
    main()
