import copy

import torch
from torch import nn, optim
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def ants_and_bees(n, noise):
    y = torch.randint(0, 2, (n,))
    x = torch.randn(n, 30)
    x[:, 0] += 1.2 * (2 * y - 1)
    flip = torch.rand(n) < noise
    return x, torch.where(flip, 1 - y, y)


sets = {"train": TensorDataset(*ants_and_bees(120, 0.3)), "val": TensorDataset(*ants_and_bees(1000, 0.0))}
loaders = {k: DataLoader(v, batch_size=20, shuffle=True) for k, v in sets.items()}


def evaluate(model):
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in loaders["val"]:
            right += (model(x).argmax(1) == y).sum().item()
    return right / len(sets["val"])


def train_model(model, criterion, optimizer, scheduler, num_epochs):
    best_model_wts = copy.deepcopy(model.state_dict())
    best_acc = 0.0
    for epoch in range(num_epochs):
        model.train()
        running = 0.0
        for inputs, labels in loaders["train"]:
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
            running += loss.item() * len(labels)
        scheduler.step()
        epoch_acc = evaluate(model)
        if epoch_acc > best_acc:
            best_acc = epoch_acc
            best_model_wts = copy.deepcopy(model.state_dict())
        if epoch % 8 == 0:
            print(f"epoch {epoch} train loss {running / len(sets['train']):.4f} val acc {epoch_acc:.3f}")
    print(f"best val acc {best_acc:.3f}")
    model.load_state_dict(best_model_wts)
    return model


def main():
    model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = lr_scheduler.StepLR(optimizer, step_size=20, gamma=0.5)
    model = train_model(model, nn.CrossEntropyLoss(), optimizer, scheduler, 40)
    print(f"val acc of the returned model {evaluate(model):.3f}")


main()
