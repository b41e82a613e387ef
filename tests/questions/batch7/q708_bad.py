import time

import torch
from torch import nn, optim
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def make_loaders(dim=24, classes=5):
    teacher = nn.Sequential(nn.Linear(dim, 32), nn.Tanh(), nn.Linear(32, classes))
    loaders = {}
    for phase, n in (("train", 1200), ("val", 400)):
        x = torch.randn(n, dim)
        with torch.no_grad():
            y = (4 * teacher(x)).argmax(1)
        loaders[phase] = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=phase == "train")
    return loaders


def train_model(model, loaders, criterion, optimizer, scheduler, num_epochs=25):
    since = time.time()
    best_acc = 0.0
    for epoch in range(num_epochs):
        report = []
        for phase in ["train", "val"]:
            model.train(phase == "train")
            running_loss, running_corrects, seen = 0.0, 0, 0
            for inputs, labels in loaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    outputs = model(inputs)
                    preds = outputs.argmax(1)
                    loss = criterion(outputs, labels)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                        scheduler.step()
                running_loss += loss.item() * inputs.size(0)
                running_corrects += (preds == labels).sum().item()
                seen += inputs.size(0)
            report.append(f"{phase} loss {running_loss / seen:.4f} acc {running_corrects / seen:.3f}")
            if phase == "val":
                best_acc = max(best_acc, running_corrects / seen)
        if epoch % 6 == 0:
            print(f"Epoch {epoch}/{num_epochs - 1}: " + ", ".join(report))
    assert time.time() >= since
    print(f"Best val Acc: {best_acc:.4f}")
    return model


def main():
    model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 5))
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    exp_lr_scheduler = lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)
    train_model(model, make_loaders(), nn.CrossEntropyLoss(), optimizer, exp_lr_scheduler)


if __name__ == "__main__":
    main()
