import torch
from torch import nn


class L2Norm(nn.Module):
    def __init__(self, n_channels, scale):
        super().__init__()
        self.eps = 1e-10
        self.weight = nn.Parameter(torch.full((n_channels,), float(scale)))

    def forward(self, x):
        norm = x.pow(2).sum(dim=1, keepdim=True).sqrt() + self.eps
        x = torch.div(x, norm)
        return self.weight.view(1, -1, 1, 1) * x


class Detector(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.vgg = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, padding=1),
            nn.LeakyReLU(0.1),
        )
        self.l2norm = L2Norm(8, 10)
        self.loc = nn.Conv2d(8, 4, 3, padding=1)
        self.conf = nn.Conv2d(8, classes, 3, padding=1)
        self.apply(self.weights_init)

    @staticmethod
    def weights_init(m):
        if isinstance(m, nn.Conv2d):
            nn.init.xavier_uniform_(m.weight)
            nn.init.zeros_(m.bias)

    def forward(self, x):
        x = self.l2norm(self.vgg(x))
        return self.loc(x), self.conf(x)


def make_scenes(n=64, size=16):
    images = torch.zeros(n, 1, size, size)
    labels = torch.zeros(n, size // 2, size // 2, dtype=torch.long)
    boxes = torch.zeros(n, 4, size // 2, size // 2)
    for i in range(n):
        kind = int(torch.randint(1, 3, ()))
        r, c = torch.randint(2, size // 2 - 2, (2,)).tolist()
        half = 2 * kind
        images[i, 0, 2 * r - half : 2 * r + half, 2 * c - half : 2 * c + half] = 0.5 * kind + 0.1 * torch.rand(())
        labels[i, r, c] = kind
        boxes[i, :, r, c] = torch.tensor([0.1, -0.1, 0.2 * kind, 0.2 * kind])
    return images, labels, boxes


def train(net, data, epochs, batch_size=16):
    images, labels, boxes = data
    optimizer = torch.optim.SGD(net.parameters(), lr=5e-3, momentum=0.9)
    weight = torch.tensor([0.05, 1.0, 1.0])
    for epoch in range(epochs):
        total = 0.0
        for start in range(0, len(images), batch_size):
            part = slice(start, start + batch_size)
            loc, conf = net(images[part])
            positive = (labels[part] > 0).unsqueeze(1)
            loss_l = nn.functional.smooth_l1_loss(loc * positive, boxes[part])
            loss_c = nn.functional.cross_entropy(conf, labels[part], weight=weight)
            loss = loss_l + loss_c
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / 4:.4f}")


def main():
    torch.manual_seed(0)
    train(Detector(), make_scenes(), epochs=10)


main()
