import copy

import torch
import torch.nn.functional as F
from torch import nn, optim

torch.manual_seed(0)


class VGGSmall(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.classifier = nn.Linear(64, classes)

    def forward(self, x):
        return self.classifier(self.features(x))


class Task:
    def __init__(self, classes, n, noise):
        self.centers = 1.3 * torch.randn(classes, 16)
        self.n, self.noise = n, noise

    def sample(self, n=None):
        y = torch.randint(0, len(self.centers), (n or self.n,))
        return self.centers[y] + self.noise * torch.randn(len(y), 16), y


def fit(model, x, y, optimizer, epochs):
    criterion = nn.CrossEntropyLoss()
    for _ in range(epochs):
        for index in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            loss = criterion(model(x[index]), y[index])
            loss.backward()
            optimizer.step()
    return loss.item()


def main():
    big, flowers = Task(12, 1500, 0.8), Task(4, 40, 1.5)
    vgg = VGGSmall(12)
    fit(vgg, *big.sample(), optim.Adam(vgg.parameters(), lr=2e-3), 8)
    pretrained_classifier = vgg.classifier
    pretrained = copy.deepcopy(vgg.features.state_dict())

    for param in vgg.features.parameters():
        param.require_grad = False
    vgg.classifier = nn.Linear(64, 4)

    optimizer = optim.SGD(vgg.parameters(), lr=0.05, momentum=0.9)
    loss = fit(vgg, *flowers.sample(), optimizer, 60)
    x, y = flowers.sample(1000)
    with torch.no_grad():
        test_loss = F.cross_entropy(vgg(x), y).item()
        x, y = big.sample(1000)
        kept = (pretrained_classifier(vgg.features(x)).argmax(1) == y).float().mean().item()
    drift = max((vgg.features.state_dict()[k] - v).abs().max().item() for k, v in pretrained.items())
    print(f"fine-tuned: train loss {loss:.4f} test loss {test_loss:.4f}")
    print(f"largest change of a pretrained weight {drift:.4f}, accuracy on the old task {kept:.3f}")


if __name__ == "__main__":
    main()
