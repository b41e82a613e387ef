import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

EPS = 1e-6


def make_data(n, prototypes):
    y = torch.randint(len(prototypes), (n,))
    return prototypes[y] + 1.6 * torch.randn(n, prototypes.shape[1]), y


def make_mask(model):
    return {n: np.ones_like(p.data.numpy()) for n, p in model.named_parameters() if "weight" in n}


def prune_by_percentile(model, mask, percent):
    for name, param in model.named_parameters():
        if "weight" in name:
            tensor = param.data.numpy()
            alive = tensor[np.nonzero(tensor)]
            limit = np.percentile(np.abs(alive), percent)
            mask[name] = np.where(np.abs(tensor) < limit, 0, mask[name])


def original_initialization(model, mask, initial_state):
    for name, param in model.named_parameters():
        value = initial_state[name].clone()
        param.data = value * torch.from_numpy(mask[name]) if "weight" in name else value


def train_epoch(model, x, y, optimizer):
    for rows in torch.randperm(len(x)).split(50):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        for name, p in model.named_parameters():
            if "weight" in name:
                tensor = p.data.numpy()
                grad_tensor = p.grad.data.numpy()
                grad_tensor = np.where(np.abs(tensor) < EPS, 0, grad_tensor)
                p.grad.data = torch.from_numpy(grad_tensor)
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    prototypes = torch.randn(20, 32)
    x_train, y_train = make_data(3000, prototypes)
    x_test, y_test = make_data(2000, prototypes)
    model = nn.Sequential(nn.Linear(32, 100), nn.ReLU(), nn.Linear(100, 60), nn.ReLU(), nn.Linear(60, 20))
    initial_state = {k: v.clone() for k, v in model.state_dict().items()}
    mask = make_mask(model)
    for iteration in range(4):
        if iteration:
            prune_by_percentile(model, mask, 30)
            original_initialization(model, mask, initial_state)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            loss = train_epoch(model, x_train, y_train, optimizer)
        with torch.no_grad():
            accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
        total = sum(m.size for m in mask.values())
        left = sum(int(m.sum()) for m in mask.values())
        moved = sum(
            int(((p.detach() != initial_state[n]) & (torch.from_numpy(mask[n]) == 1)).sum())
            for n, p in model.named_parameters()
            if "weight" in n
        )
        print(
            f"pruning level {iteration}: {100 * left / total:5.1f}% left  {moved} of these {left} moved  "
            f"loss {loss:.3f}  test accuracy {accuracy:.3f}"
        )


if __name__ == "__main__":
    main()
