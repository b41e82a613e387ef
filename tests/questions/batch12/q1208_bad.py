import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 32, 3, padding=1)
        self.fc = nn.Linear(32, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.conv2(x))
        return self.fc(x.mean((2, 3)))


def make_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(4, (n,), generator=g)
    base = torch.linspace(-1, 1, 12)
    rows, cols = torch.meshgrid(base, base, indexing="ij")
    patterns = torch.stack([torch.sin(5 * rows), torch.sin(5 * cols), torch.sin(4 * (rows + cols)), torch.sin(4 * (rows - cols))])
    x = patterns[y][:, None] + 0.8 * torch.randn(n, 1, 12, 12, generator=g)
    return x, y


def speedup(model, keep):
    """Replace the convolutions by narrower ones that hold the channels with the largest weights."""
    order = model.conv1.weight.detach().abs().sum((1, 2, 3)).argsort(descending=True)[:keep]
    conv1 = nn.Conv2d(1, keep, 3, padding=1)
    conv1.load_state_dict({"weight": model.conv1.weight[order], "bias": model.conv1.bias[order]})
    second = model.conv2.weight.detach().abs().sum((1, 2, 3)).argsort(descending=True)[:keep]
    conv2 = nn.Conv2d(keep, keep, 3, padding=1)
    conv2.load_state_dict({"weight": model.conv2.weight[second][:, order], "bias": model.conv2.bias[second]})
    fc = nn.Linear(keep, 4)
    fc.load_state_dict({"weight": model.fc.weight[:, second], "bias": model.fc.bias})
    model.conv1, model.conv2, model.fc = conv1, conv2, fc


def train(model, optimizer, x, y, epochs, name):
    for epoch in range(epochs):
        total = 0.0
        for rows in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        print(f"{name} epoch {epoch}: loss {total / len(x):.4f}")


def main():
    torch.manual_seed(0)
    x, y = make_data(1200, 0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    train(model, optimizer, x, y, 4, "pretrain")
    speedup(model, keep=4)
    train(model, optimizer, x, y, 6, "finetune")
    x_test, y_test = make_data(500, 1)
    with torch.no_grad():
        print(f"accuracy after finetuning {(model(x_test).argmax(1) == y_test).float().mean():.3f}")


if __name__ == "__main__":
    main()
