import torch
import torch.nn as nn

torch.manual_seed(0)


class Kernel(nn.Module):
    def __init__(self, dim=6, width=16):
        super().__init__()
        self.fc1 = nn.Linear(dim, 32)
        self.fc2 = nn.Linear(32, width)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


class SimilarityLoss(nn.Module):
    def __init__(self, sigma=0.5):
        super().__init__()
        self.sigma = sigma

    def forward(self, z, labels):
        d = ((z.unsqueeze(1) - z.unsqueeze(0)) ** 2).sum(-1)
        sim = torch.exp(-d / (2 * self.sigma**2)).clamp(min=1e-9)
        same = labels.unsqueeze(1) == labels.unsqueeze(0)
        eye = torch.eye(len(z), dtype=torch.bool)
        positive = -torch.log(sim[same & ~eye]).mean()
        negative = torch.relu(sim[~same] - 0.1).mean()
        return 0.05 * positive + negative


def batch(n, centers, far=0.0):
    labels = torch.randint(0, len(centers), (n,))
    x = centers[labels] + 0.4 * torch.randn(n, centers.size(1))
    if far:
        x[0] = x[0] * far
        labels[0] = labels[1]
    return x, labels


def main():
    centers = torch.randn(4, 6)
    model = Kernel()
    criterion = SimilarityLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(150):
        x, labels = batch(32, centers, far=15.0 if step == 60 else 0.0)
        loss = criterion(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 15 == 0:
            print(step, loss.item(), model.fc2.weight.abs().max().item())


if __name__ == "__main__":
    main()
