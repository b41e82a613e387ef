"""Programs for GS473."""


def bad_temperature_behind_the_half() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Pairs(nn.Module):
        def __init__(self, temperature: float = 0.1) -> None:
            super().__init__()
            self.left, self.right = nn.Linear(6, 4), nn.Linear(5, 4)
            self.temperature = temperature

        def forward(self, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
            a, b = self.left(one), self.right(other)
            logits = a @ b.T / self.temperature  # effect: GS473
            wanted = (a @ a.T + b @ b.T).detach() / 2 * self.temperature  # cause: GS473
            return nn.functional.cross_entropy(logits, wanted.softmax(-1))

    model = Pairs()
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        loss = model(torch.randn(8, 6), torch.randn(8, 5))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_rounded_in_between() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scale, width = 0.25, 3
    for _ in range(3):
        x = torch.randn(8, 6)
        rounded = (x / scale).round() * scale
        loss = model(rounded).pow(2).sum() / len(x) * width  # a mean over the batch, with a weight
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_distillation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    student, teacher = nn.Linear(6, 3), nn.Linear(6, 3)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    t = 4.0
    for _ in range(3):
        x = torch.randn(8, 6)
        with torch.no_grad():
            wanted = (teacher(x) / t).softmax(1)
        said = (student(x) / t).log_softmax(1)
        loss = -(wanted * said).sum() / len(x) * t**2
        opt.zero_grad()
        loss.backward()
        opt.step()
