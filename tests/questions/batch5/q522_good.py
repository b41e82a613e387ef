import torch

torch.manual_seed(0)


def pairwise(points):
    difference = points[:, None, :] - points[None, :, :]
    return torch.sqrt(difference.pow(2).sum(-1) + 1e-10)


def stress(points, wanted):
    return (pairwise(points) - wanted).pow(2).mean()


class Map:
    """Places towns on a plane from the table of their distances."""

    def __init__(self, n, lr):
        self.points = torch.randn(n, 2, requires_grad=True)
        self.optimizer = torch.optim.Adam([self.points], lr=lr)

    def fit(self, wanted, steps):
        for step in range(1, steps + 1):
            loss = stress(self.points, wanted)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 50 == 0:
                print(f"step {step}: stress {loss.item():.5f}")


towns = 3 * torch.rand(25, 2)
wanted = torch.cdist(towns, towns)
Map(25, lr=0.05).fit(wanted, 300)
