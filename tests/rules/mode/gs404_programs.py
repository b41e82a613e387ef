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


def bad_written_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last, self.keep = nn.Linear(4, 32), nn.Linear(32, 2), 0.5

        def drop(self, h: torch.Tensor) -> torch.Tensor:
            kept = (torch.rand_like(h) < self.keep).float()  # cause: GS404
            return h * kept / self.keep

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.relu(self.first(x))
            if self.keep < 1:
                h = self.drop(h)
            return self.last(h)

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        x = torch.randn(8, 4)
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            (model(x).argmax(1) == (x[:, 0] > 0)).sum().item()  # effect: GS404


def good_written_by_hand_with_the_mode() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Path(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 32), nn.Linear(32, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.relu(self.first(x))
            if self.training:
                h = h / 0.8 * torch.floor(0.8 + torch.rand(len(h), 1))
            return self.last(h)

    model = Path()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        x = torch.randn(8, 4)
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            (model(x).argmax(1) == (x[:, 0] > 0)).sum().item()


def good_masked_autoencoder() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Filled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(6, 32), nn.Linear(32, 6)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            shown = (torch.rand_like(x) > 0.3).float()
            again = self.last(torch.relu(self.first(x * shown)))
            hidden = 1 - shown
            return ((again - x).pow(2) * hidden).sum() / hidden.sum()

    model = Filled()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        opt.zero_grad()
        model(torch.randn(16, 6)).backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            model(torch.randn(16, 6)).item()


def good_noise_of_a_sampler() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Levels(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 32), nn.Linear(32, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            even = (x + torch.rand_like(x)) / 256
            return self.last(torch.relu(self.first(even)))

    model = Levels()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        x = torch.randint(0, 256, (8, 4)).float()
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), (x[:, 0] > 128).long()).backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            (model(x).argmax(1) == (x[:, 0] > 128)).sum().item()


def good_averaged_over_its_own_dropout() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Unsure(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 32), nn.Linear(32, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.relu(self.first(x))
            return self.last(h * (torch.rand_like(h) < 0.8).float() / 0.8)

    model = Unsure()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        x = torch.randn(8, 4)
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            answers = torch.stack([torch.softmax(model(x), 1) for _ in range(5)])
            answers.mean(0).argmax(1).sum().item()


def bad_loss_that_is_estimated_several_times() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.heads, self.last, self.rate = nn.Linear(4, 12), nn.Linear(4, 2), 0.5

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            q, k, v = self.heads(x).chunk(3, dim=-1)
            h = nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=self.rate)  # cause: GS404
            return nn.functional.mse_loss(self.last(h), y)

    def estimate(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
        model.eval()
        with torch.no_grad():
            loss = model(x, y).item()  # effect: GS404
        model.train()
        return loss

    model = Net()
    x, y = torch.randn(8, 6, 4), torch.randn(8, 6, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(x, y).backward()
        opt.step()
    print([estimate(model, x, y) for _ in range(4)])


def bad_asked_alone_before() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Sorter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 32), nn.Linear(32, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.last(nn.functional.dropout(torch.relu(self.first(x)), p=0.5))  # cause: GS404

    sorter = Sorter()
    opt = torch.optim.SGD(sorter.parameters(), lr=0.1)
    held = torch.randn(32, 4)

    def validate() -> float:
        sorter.eval()
        with torch.no_grad():
            scores = sorter(held)  # effect: GS404
        return (scores.argmax(1) == (held[:, 0] > 0)).float().mean().item()

    for _ in range(6):
        sorter.train()
        x = torch.randn(8, 4)
        opt.zero_grad()
        nn.functional.cross_entropy(sorter(x), (x[:, 0] > 0).long()).backward()
        opt.step()
        validate()
    for _ in range(3):
        validate()


def bad_written_by_hand_with_where() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Weighed(nn.Module):
        def __init__(self, rate: float = 0.2) -> None:
            super().__init__()
            self.ask, self.told, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)
            self.rate = rate

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            w = torch.einsum("bid,bjd->bij", self.ask(x), self.told(x)).softmax(-1)
            kept = torch.rand_like(w) > self.rate  # cause: GS404
            w = torch.where(kept, w / (1 - self.rate), torch.zeros_like(w))
            out: torch.Tensor = self.last(torch.einsum("bij,bjd->bid", w, x).mean(1))
            return out[:, 0]

    net = Weighed()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        net.train()
        x = torch.randn(16, 5, 4)
        opt.zero_grad()
        (net(x) - x.mean((1, 2))).square().mean().backward()
        opt.step()
        net.eval()
        with torch.no_grad():
            print((net(x) - x.mean((1, 2))).square().mean())  # effect: GS404


def bad_written_by_hand_with_an_index() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 32), nn.Linear(32, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.relu(self.first(x)).clone()
            gone = torch.rand(h.shape) < 0.3  # cause: GS404
            h[gone] = 0
            out: torch.Tensor = self.last(h / 0.7)
            return out

    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        net.train()
        x = torch.randn(8, 4)
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long()).backward()
        opt.step()
        net.eval()
        with torch.no_grad():
            (net(x).argmax(1) == (x[:, 0] > 0)).sum().item()  # effect: GS404


def good_scores_that_chance_leaves_out() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Neighbours(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ask, self.told, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores = self.ask(x) @ self.told(x).transpose(1, 2) / 2
            some = torch.rand_like(scores) < 0.4
            scores = scores.masked_fill(some, -1e9)
            shown = torch.where(torch.rand_like(x) > 0.3, x, torch.zeros_like(x))
            out: torch.Tensor = self.last(scores.softmax(-1) @ shown)
            return out

    net = Neighbours()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        net.train()
        x = torch.randn(16, 5, 4)
        opt.zero_grad()
        (net(x) - x).square().mean().backward()
        opt.step()
        net.eval()
        with torch.no_grad():
            print((net(x) - x).square().mean())


def good_chance_of_one_in_evaluation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Stage(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, h: torch.Tensor) -> torch.Tensor:
            chance = 0.8 if self.training else 1.0
            lives = torch.rand(h.size(0), 1) < chance
            return h + torch.relu(self.layer(h)) * lives / chance

    class Rounded(Stage):
        def forward(self, h: torch.Tensor) -> torch.Tensor:
            keep = 0.8 if self.training else 1.0
            lives = (keep + torch.rand(h.size(0), 1)).floor_()
            return h + torch.relu(self.layer(h)).div(keep) * lives

    class Thrown(Stage):
        def forward(self, h: torch.Tensor) -> torch.Tensor:
            keep = 0.8 if self.training else 1.0
            return h + torch.relu(self.layer(h)) * torch.bernoulli(torch.full_like(h, keep)) / keep

    model = nn.Sequential(nn.Linear(4, 8), Stage(), Rounded(), Thrown(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    held = torch.randn(32, 4)
    for _ in range(6):
        model.train()
        x = torch.randn(16, 4)
        opt.zero_grad()
        nn.functional.mse_loss(model(x), x[:, :1]).backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            nn.functional.mse_loss(model(held), held[:, :1]).item()


def bad_rounded_down_from_outside() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    def path(branch: torch.Tensor, keep: float) -> torch.Tensor:
        lives = torch.floor(keep + torch.rand(branch.size(0), 1))  # cause: GS404
        return branch / keep * lives

    class Stage(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, h: torch.Tensor) -> torch.Tensor:
            return h + path(torch.relu(self.layer(h)), 0.8)

    model = nn.Sequential(nn.Linear(4, 8), Stage(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    held = torch.randn(32, 4)
    for _ in range(6):
        model.train()
        x = torch.randn(16, 4)
        opt.zero_grad()
        nn.functional.mse_loss(model(x), x[:, :1]).backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            nn.functional.mse_loss(model(held), held[:, :1]).item()  # effect: GS404


def bad_two_of_them_behind_a_flag_of_its_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def dropped(h: torch.Tensor, p: float) -> torch.Tensor:
        mask = (torch.rand(h.shape) > p).float()  # cause: GS404
        return mask * h / (1.0 - p)

    class Net(nn.Module):
        def __init__(self, noisy: bool = True) -> None:
            super().__init__()
            self.first, self.middle, self.last = nn.Linear(4, 32), nn.Linear(32, 32), nn.Linear(32, 2)
            self.noisy = noisy

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.relu(self.first(x))
            if self.noisy:
                h = dropped(h, 0.2)
            h = torch.relu(self.middle(h))
            h = dropped(h, 0.5) if self.noisy else h
            return self.last(h)

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        x = torch.randn(8, 4)
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            (model(x).argmax(1) == (x[:, 0] > 0)).sum().item()  # effect: GS404


def bad_one_of_two_behind_a_flag() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    def dropped(h: torch.Tensor, p: float) -> torch.Tensor:
        mask = (torch.rand(h.shape) > p).float()  # cause: GS404
        return mask * h / (1.0 - p)

    class Net(nn.Module):
        def __init__(self, noisy: bool = True) -> None:
            super().__init__()
            self.first, self.middle, self.last = nn.Linear(4, 32), nn.Linear(32, 32), nn.Linear(32, 2)
            self.noisy = noisy

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.relu(self.first(x))
            if self.noisy:
                h = dropped(h, 0.2)
            h = dropped(torch.relu(self.middle(h)), 0.5)
            return self.last(h)

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        x = torch.randn(8, 4)
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            (model(x).argmax(1) == (x[:, 0] > 0)).sum().item()  # effect: GS404


def good_two_of_them_behind_the_mode() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def dropped(h: torch.Tensor, p: float) -> torch.Tensor:
        mask = (torch.rand(h.shape) > p).float()
        return mask * h / (1.0 - p)

    class Net(nn.Module):
        def __init__(self, noisy: bool = True) -> None:
            super().__init__()
            self.first, self.middle, self.last = nn.Linear(4, 32), nn.Linear(32, 32), nn.Linear(32, 2)
            self.noisy = noisy

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.relu(self.first(x))
            if self.training and self.noisy:
                h = dropped(h, 0.2)
            h = torch.relu(self.middle(h))
            h = dropped(h, 0.5) if self.training else h
            return self.last(h)

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        x = torch.randn(8, 4)
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            (model(x).argmax(1) == (x[:, 0] > 0)).sum().item()


def good_decoder_that_goes_on_from_its_own_answers() -> None:
    """The dropout in front of a decoder stays on when it speaks, as in Tacotron: without it the loop is too sure."""
    import torch
    from torch import nn

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.cell, self.out = nn.Linear(1, 8), nn.GRUCell(8, 8), nn.Linear(8, 1)

        def forward(self, frame: torch.Tensor, series: torch.Tensor | None = None) -> torch.Tensor:
            state, frames = torch.zeros(len(frame), 8), []
            for at in range(4):
                taken = nn.functional.dropout(self.before(frame).relu(), 0.2, training=True)
                state = self.cell(taken, state)
                frames.append(self.out(state))
                frame = series[:, at] if series is not None else frames[-1]
            return torch.stack(frames, 1)

    torch.manual_seed(0)
    net = Decoder()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(8):
        first = torch.rand(16, 1)
        series = torch.sin(first[:, None] + 0.4 * torch.arange(1.0, 5.0)[None, :, None])
        opt.zero_grad()
        nn.functional.mse_loss(net(first, series), series).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print(net(torch.rand(4, 1)))
