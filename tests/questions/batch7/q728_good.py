import copy

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def make_datasets(dim=20, classes=4):
    teacher = nn.Sequential(nn.Linear(dim, 24), nn.Tanh(), nn.Linear(24, classes))
    datasets = {}
    for phase, n in (("train", 800), ("val", 320)):
        x = torch.randn(n, dim)
        with torch.no_grad():
            datasets[phase] = TensorDataset(x, (4 * teacher(x)).argmax(1))
    return datasets


datasets = make_datasets()
dataloaders = {phase: DataLoader(datasets[phase], batch_size=16, shuffle=True) for phase in ("train", "val")}
dataset_sizes = {phase: len(datasets[phase]) for phase in ("train", "val")}


def train_model(model, criterion, optimizer, num_epochs=8):
    best_model_wts = copy.deepcopy(model.state_dict())
    best_acc = 0.0
    for epoch in range(num_epochs):
        for phase in ["train", "val"]:
            model.train(phase == "train")
            running_loss = 0.0
            running_corrects = 0
            for inputs, labels in dataloaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    outputs = model(inputs)
                    preds = outputs.argmax(1)
                    loss = criterion(outputs, labels)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                running_loss += loss.item() * inputs.size(0)
                running_corrects += torch.sum(preds == labels).item()
            epoch_loss = running_loss / dataset_sizes[phase]
            epoch_acc = running_corrects / dataset_sizes[phase]
            if epoch % 3 == 1:
                print(f"epoch {epoch} {phase} Loss: {epoch_loss:.4f} Acc: {epoch_acc:.4f}")
            if phase == "val" and epoch_acc > best_acc:
                best_acc = epoch_acc
                best_model_wts = copy.deepcopy(model.state_dict())
    model.load_state_dict(best_model_wts)
    return model


def main():
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 4))
    model = train_model(model, nn.CrossEntropyLoss(), optim.SGD(model.parameters(), lr=0.05, momentum=0.9))
    model.eval()
    x, y = datasets["val"].tensors
    with torch.no_grad():
        print(
            f"best model, whole validation set at once: {nn.functional.cross_entropy(model(x), y).item():.4f}"
        )


if __name__ == "__main__":
    main()
