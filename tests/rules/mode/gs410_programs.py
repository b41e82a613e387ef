"""More programs of GS410: each bad one is reported at its marks, each good one by no rule."""


def bad_attention_whose_rate_is_overwritten() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)

    class Core(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dropout_p = 0.3

        def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            if not self.training:
                self.dropout_p = 0.0  # cause: GS410
            return F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout_p)  # effect: GS410

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.project = nn.Linear(4, 12)
            self.core = Core()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.core(*self.project(x).chunk(3, dim=-1))
            return out

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        for _ in range(2):
            opt.zero_grad()
            (model(torch.randn(2, 5, 4)) - 1).pow(2).mean().backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            (model(torch.randn(2, 5, 4)) - 1).pow(2).mean().item()


def bad_rate_taken_into_a_name() -> None:  # fix: by hand
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 1)
            self.drop = 0.5

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.training is False:
                self.drop = 0.0  # cause: GS410
            rate = self.drop
            out: torch.Tensor = self.layer(F.dropout(x, rate))  # effect: GS410
            return out

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        for _ in range(2):
            opt.zero_grad()
            (model(torch.randn(8, 4)) - 1).pow(2).mean().backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            (model(torch.randn(8, 4)) - 1).pow(2).mean().item()


def good_rate_set_in_both_modes() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 1)
            self.rate = 0.2

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if not self.training:
                self.rate = 0.0
            else:
                self.rate = 0.2
            out: torch.Tensor = self.layer(F.dropout(x, self.rate))
            return out

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        for _ in range(2):
            opt.zero_grad()
            (model(torch.randn(8, 4)) - 1).pow(2).mean().backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            (model(torch.randn(8, 4)) - 1).pow(2).mean().item()


def good_dropout_at_the_start_only() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 1)
            self.rate = 0.2
            self.calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += self.training
            out: torch.Tensor = self.layer(F.dropout(x, self.rate, training=self.training))
            return out

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        model.rate = 0.2 if epoch == 0 else 0.0
        model.train()
        for _ in range(2):
            opt.zero_grad()
            (model(torch.randn(8, 4)) - 1).pow(2).mean().backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            (model(torch.randn(8, 4)) - 1).pow(2).mean().item()


def good_evaluated_once_at_the_end() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 1)
            self.rate = 0.2

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if not self.training:
                self.rate = 0.0
            out: torch.Tensor = self.layer(F.dropout(x, self.rate))
            return out

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (model(torch.randn(8, 4)) - 1).pow(2).mean().backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        (model(torch.randn(8, 4)) - 1).pow(2).mean().item()
