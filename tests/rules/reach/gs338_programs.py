"""More programs of GS338: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_gathered() -> None:
    import torch
    from torch import nn

    class Focal:
        def __init__(self, alpha: list[float]) -> None:
            self.alpha = torch.tensor(alpha)

        def __call__(self, scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
            p = scores.log_softmax(1).gather(1, labels.view(-1, 1)).squeeze(1)
            self.alpha = self.alpha.gather(0, labels)  # cause: GS338
            return -(self.alpha * (1 - p.exp()) ** 2 * p).mean()

    torch.manual_seed(0)
    model, criterion = nn.Linear(4, 3), Focal([0.2, 1.0, 3.0])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        x = torch.randn(8, 4)
        loss = criterion(model(x), x[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()  # effect: GS338
        opt.step()


def good_samples_in_another_order() -> None:
    import torch
    from torch import nn

    class Set:
        def __init__(self) -> None:
            self.x, self.weight = torch.randn(8, 4), torch.rand(8)

        def mix(self) -> None:
            order = torch.randperm(8)
            self.x, self.weight = self.x[order], self.weight[order]

    torch.manual_seed(0)
    model, held = nn.Linear(4, 1), Set()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        held.mix()
        loss = ((model(held.x).squeeze(1) - 1).pow(2) * held.weight).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_drawn_again_and_again() -> None:
    import torch
    from torch import nn

    class Particles:
        def __init__(self) -> None:
            self.points = torch.randn(4, 2)

        def draw(self) -> torch.Tensor:
            self.points = self.points[torch.randint(0, len(self.points), (8,))]
            self.points = self.points + 0.1 * torch.randn(8, 2)
            return self.points

    torch.manual_seed(0)
    model, particles = nn.Linear(2, 1), Particles()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        loss = (model(particles.draw()) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
