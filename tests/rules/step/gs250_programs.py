"""More programs of GS250: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_weights_scaled_where_they_are_made() -> None:  # fix: by hand
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


def bad_drawn_in_place() -> None:  # fix: by hand
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


def bad_zeros_that_weigh_a_part() -> None:
    import torch
    from torch import nn

    class Slopes(nn.Module):
        def __init__(self, width: int):
            super().__init__()
            self.norm = nn.BatchNorm1d(width)
            self.slope = torch.zeros(width)  # cause: GS250

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            gate = torch.sigmoid(self.norm(x))
            return gate * x + (1 - gate) * self.slope[None] * x  # effect: GS250

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 4), Slopes(4), nn.Linear(4, 1))
    opt = torch.optim.Adam(model.parameters())
    for _ in range(4):
        opt.zero_grad()
        nn.functional.mse_loss(model(torch.randn(16, 6)), torch.randn(16, 1)).backward()
        opt.step()


def bad_the_second_factor_of_an_adapter() -> None:
    import torch
    from torch import nn

    class Adapter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.base, self.down = nn.Linear(6, 5), nn.Linear(6, 2, bias=False)
            self.lift = torch.zeros(2, 5)  # cause: GS250

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.base(x)
            return out + torch.einsum("bi,io->bo", self.down(x), self.lift)  # effect: GS250

    torch.manual_seed(0)
    model = Adapter()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(16, 6)), torch.randint(0, 5, (16,))).backward()
        opt.step()


def good_zeros_that_a_state_begins_with() -> None:
    import torch
    from torch import nn

    class Cell(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate, self.new = nn.Linear(9, 5), nn.Linear(4, 5)
            self.begin = torch.zeros(1, 5)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = self.begin.expand(len(x), 5)
            for one in x.unbind(1):
                z = torch.sigmoid(self.gate(torch.cat([one, h], 1)))
                h = z * h + (1 - z) * torch.tanh(self.new(one))
            return h

    torch.manual_seed(0)
    model = Cell()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 3, 4)).pow(2).mean().backward()
        opt.step()


def good_a_mean_that_is_filled_later() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 3)
            self.centre, self.mixed = torch.zeros(3), torch.zeros(3)
            self.share = torch.zeros(3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores = self.layer(x)
            return scores - self.centre + scores * self.share

    torch.manual_seed(0)
    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(6):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
        model.share = model.share + 0.1 * (step > 1)


def good_zeros_that_are_a_parameter() -> None:
    import torch
    from torch import nn

    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.scale = nn.Linear(4, 4), nn.Parameter(torch.zeros(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.layer(x) * self.scale

    torch.manual_seed(0)
    model, head = Scaled(), nn.Linear(4, 1)
    opt = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        nn.functional.mse_loss(head(model(torch.randn(8, 4))), torch.randn(8, 1)).backward()
        opt.step()
