"""More programs of GS250: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_weights_scaled_where_they_are_made() -> None:
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Linear(4, 8)
            self.weight = 0.1 * torch.randn(8, 3)  # cause: GS250

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.body(x) @ self.weight  # effect: GS250

    torch.manual_seed(0)
    model = Layer()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(16, 4)), torch.randint(0, 3, (16,))).backward()
        opt.step()


def good_frequencies_in_a_buffer() -> None:
    import torch
    from torch import nn

    class Features(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(2))
            self.register_buffer("frequencies", torch.randn(2, 8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sin(self.scale * x @ self.frequencies)

    torch.manual_seed(0)
    model = nn.Sequential(Features(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(16, 2)).pow(2).mean().backward()
        opt.step()


def good_centres_that_follow_the_data() -> None:
    import torch
    from torch import nn

    class Centres(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Linear(4, 8)
            self.centres = torch.randn(3, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = self.body(x)
            with torch.no_grad():
                self.centres.mul_(0.9).add_(hidden.mean(0), alpha=0.1)
            return torch.cdist(hidden, self.centres.clone())

    torch.manual_seed(0)
    model = Centres()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(16, 4)).mean().backward()
        opt.step()


def good_data_kept_by_an_object() -> None:
    import torch
    from torch import nn

    class Task:
        def __init__(self) -> None:
            self.x = torch.randn(16, 4)
            self.y = self.x.sum(1, keepdim=True)

    torch.manual_seed(0)
    task, model = Task(), nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.mse_loss(model(task.x), task.y).backward()
        opt.step()


def bad_drawn_in_place() -> None:
    import torch
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Linear(3, 8)
            self.place = torch.empty(1, 4, 8).normal_(std=0.5)  # cause: GS250
            self.out = nn.Linear(8, 4)

        def forward(self, patches: torch.Tensor) -> torch.Tensor:
            tokens = torch.add(self.embed(patches), self.place)  # effect: GS250
            return self.out(tokens.tanh().mean(1))

    torch.manual_seed(0)
    encoder = Encoder()
    optim = torch.optim.AdamW(encoder.parameters(), lr=0.004)
    for _ in range(4):
        patches = torch.randn(16, 4, 3)
        optim.zero_grad()
        nn.functional.cross_entropy(encoder(patches), patches.mean(2).argmax(1)).backward()
        optim.step()


def good_drawn_in_place_and_registered() -> None:
    import torch
    from torch import nn

    class Encoder(nn.Module):
        place: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Linear(3, 8)
            self.register_buffer("place", torch.empty(1, 4, 8).normal_(std=0.5))
            self.out = nn.Linear(8, 4)

        def forward(self, patches: torch.Tensor) -> torch.Tensor:
            return self.out((self.embed(patches) + self.place).tanh().mean(1))

    torch.manual_seed(0)
    encoder = Encoder()
    optim = torch.optim.AdamW(encoder.parameters(), lr=0.004)
    for _ in range(4):
        patches = torch.randn(16, 4, 3)
        optim.zero_grad()
        nn.functional.cross_entropy(encoder(patches), patches.mean(2).argmax(1)).backward()
        optim.step()
