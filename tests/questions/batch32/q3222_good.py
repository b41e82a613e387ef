import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def define_model(dropout):
    layers = []
    in_features = 40
    for out_features in (128, 128):
        layers.append(nn.Linear(in_features, out_features))
        layers.append(nn.ReLU())
        layers.append(nn.Dropout(dropout))
        in_features = out_features
    layers.append(nn.Linear(in_features, 4))
    layers.append(nn.LogSoftmax(dim=1))
    return nn.Sequential(*layers)


def get_data(n, w):
    x = torch.randn(n, 40)
    y = (x @ w + 1.5 * torch.randn(n, 4)).argmax(1)
    return TensorDataset(x, y)


def objective(lr, dropout, train_loader, valid_loader, epochs=14):
    torch.manual_seed(1)
    model = define_model(dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    for epoch in range(epochs):
        model.train()
        train_loss = 0.0
        for data, target in train_loader:
            optimizer.zero_grad()
            output = model(data)
            loss = F.nll_loss(output, target)
            loss.backward()
            optimizer.step()
            train_loss += loss.item()

        model.eval()
        correct, valid_loss = 0, 0.0
        with torch.no_grad():
            for data, target in valid_loader:
                output = model(data)
                valid_loss += F.nll_loss(output, target, reduction="sum").item()
                correct += (output.argmax(1) == target).sum().item()
        accuracy = correct / len(valid_loader.dataset)
        if epoch % 4 == 1:
            print(
                f"  epoch {epoch} train {train_loss / len(train_loader):.4f} "
                f"valid {valid_loss / len(valid_loader.dataset):.4f} acc {accuracy:.3f}"
            )
    return accuracy


def main():
    w = torch.randn(40, 4)
    train_loader = DataLoader(get_data(500, w), batch_size=50, shuffle=True)
    valid_loader = DataLoader(get_data(500, w), batch_size=250)
    for dropout in (0.2, 0.5):
        print("trial with dropout", dropout)
        print("  accuracy", objective(3e-3, dropout, train_loader, valid_loader))


if __name__ == "__main__":
    main()
