"""More programs of GS404: each bad one is reported at its marks, each good one by no rule."""


def bad_attention() -> None:
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mix, self.out = nn.Linear(4, 12), nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q, k, v = self.mix(x).chunk(3, dim=-1)
            y = nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=0.5)  # cause: GS404
            out: torch.Tensor = self.out(y)
            return out

    model = Attention()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model.train()
        opt.zero_grad()
        model(torch.randn(2, 6, 4)).pow(2).mean().backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            model(torch.randn(2, 6, 4)).pow(2).mean().item()  # effect: GS404


def bad_whole_graph_at_once() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 32), nn.Linear(32, 2)

        def forward(self, x: torch.Tensor, links: torch.Tensor) -> torch.Tensor:
            x = nn.functional.dropout(links @ self.first(x))  # cause: GS404
            out: torch.Tensor = self.last(links @ x)
            return out

    model, x, links = Net(), torch.randn(8, 4), torch.ones(8, 8) / 8
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        opt.zero_grad()
        model(x, links)[:4].pow(2).mean().backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            model(x, links)[4:].pow(2).mean().item()  # effect: GS404


def bad_mode_written_out() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 32), nn.Linear(32, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = nn.functional.dropout(self.first(x), 0.5, training=True)  # cause: GS404
            out: torch.Tensor = self.last(x)
            return out

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            for x in torch.randn(3, 8, 4):
                model(x).pow(2).mean().item()  # effect: GS404


def bad_layer_made_in_forward() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 32), nn.Linear(32, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = nn.Dropout(0.5)(self.first(x))  # cause: GS404
            out: torch.Tensor = self.last(x)
            return out

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model.train()
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            model(torch.randn(8, 4)).pow(2).mean().item()  # effect: GS404


def bad_locked_dropout() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    class LockedDropout(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.dropout(x, 0.5, training=True)  # cause: GS404

    model = nn.Sequential(nn.Linear(4, 16), LockedDropout(), nn.Linear(16, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model.train()
        for _ in range(2):
            opt.zero_grad()
            model(torch.randn(8, 4)).pow(2).mean().backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            model(torch.randn(8, 4)).pow(2).mean().item()  # effect: GS404


def good_monte_carlo_after_training() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.layer(nn.functional.dropout(x, 0.5, training=True))
            return out

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def predict(x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = model(x).softmax(dim=1)
        return out

    for _ in range(3):
        model.train()
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            for x in torch.randn(2, 8, 4):
                sum(predict(x).numpy() for _ in range(4))


def good_samples_stacked() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 2)

        def forward(self, x: torch.Tensor, sample: bool = True) -> torch.Tensor:
            out: torch.Tensor = self.layer(nn.functional.dropout(x, 0.5, training=sample))
            return out

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    model.eval()
    x = torch.randn(8, 4)
    with torch.no_grad():
        torch.stack([model(x) for _ in range(4)]).std(dim=0).mean().item()


def good_monte_carlo_dropout() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    model.eval()
    model[1].train()
    with torch.no_grad():
        torch.stack([model(torch.ones(8, 4)) for _ in range(4)]).std(dim=0).mean().item()


def good_monte_carlo_written_out() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.layer(nn.functional.dropout(x, 0.5, training=True))
            return out

    model = Net().eval()
    with torch.no_grad():
        torch.stack([model(torch.ones(8, 4)) for _ in range(4)]).std(dim=0).mean().item()
