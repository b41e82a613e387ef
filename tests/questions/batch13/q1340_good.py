import torch
import torch.nn as nn


class HardTripletLoss(nn.Module):
    """For each sample the farthest one of its class and the nearest one of another."""

    def __init__(self, margin=0.1):
        super().__init__()
        self.margin = margin

    def forward(self, embeddings, labels):
        distance = torch.cdist(embeddings, embeddings)
        same = labels[:, None] == labels[None]
        hardest_positive = (distance * same).max(1).values
        hardest_negative = (distance + 1e3 * same).min(1).values
        triplet_loss = torch.relu(hardest_positive - hardest_negative + self.margin)
        return triplet_loss.mean(), (hardest_negative - hardest_positive).mean()


class Net(nn.Module):
    def __init__(self, features, out=8):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(features, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, out)
        )

    def forward(self, x):
        return self.net(x)


def make_batch(n, centres, generator):
    labels = torch.arange(n) % len(centres)
    x = centres[labels] + 0.45 * torch.randn(n, centres.shape[1], generator=generator)
    return x, labels


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    centres = torch.randn(6, 24, generator=generator)
    for margin in (0.5, 2.0):
        torch.manual_seed(0)
        generator.manual_seed(2)
        model = Net(24)
        criterion = HardTripletLoss(margin=margin)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for step in range(201):
            x, labels = make_batch(60, centres, generator)
            loss, gap = criterion(model(x), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 50 == 0:
                print(
                    f"margin {margin}, step {step}: loss {loss.item():.4f}  gap between the classes {gap.item():.3f}"
                )


if __name__ == "__main__":
    main()
