import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES = 40


class MultiClassFocalLoss(nn.Module):
    def __init__(self, gamma=1.5):
        super().__init__()
        self.gamma = gamma

    def forward(self, inputs, targets):
        probs = F.softmax(inputs, dim=1)
        one_hot = F.one_hot(targets, num_classes=CLASSES).float()
        ce = -one_hot * torch.log(probs.clamp_min(1e-12))
        weight = (1 - (probs * one_hot).sum(1)) ** self.gamma
        loss = weight.unsqueeze(1) * ce
        return loss.mean()


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(24, 96), nn.LayerNorm(96), nn.ReLU())
        self.head = nn.Linear(96, CLASSES)

    def forward(self, x):
        return self.head(self.body(x))


def make_data(n, seed):
    centres = torch.randn(CLASSES, 24, generator=torch.Generator().manual_seed(4))
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(CLASSES, (n,), generator=g)
    return centres[y] + 0.6 * torch.randn(n, 24, generator=g), y


def main():
    torch.manual_seed(0)
    x, y = make_data(2000, 0)
    x_test, y_test = make_data(500, 1)
    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
    criterion = MultiClassFocalLoss()
    for epoch in range(8):
        for rows in torch.randperm(len(x)).split(50):
            loss = criterion(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            hits = (model(x_test).argmax(1) == y_test).float().mean().item()
        norm = model.head.weight.grad.norm().item()
        print(f"epoch {epoch}: loss {loss.item():.4f}  gradient of the head {norm:.5f}  test {hits:.3f}")


if __name__ == "__main__":
    main()
