"""More programs of GS107: each bad one is reported at its marks, each good one by no rule."""


def bad_wrapped_anew() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(5, 3)
            self.decoder = nn.Linear(3, 5, bias=False)
            self.decoder.weight = nn.Parameter(self.embedding.weight)  # cause: GS107

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            shown: torch.Tensor = self.decoder(self.embedding(x))
            return shown

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.tensor([0, 1])).pow(2).mean().backward()
        opt.step()


def bad_target_network_shares_memory() -> None:
    import torch
    from torch import nn

    net, target = nn.Linear(3, 1), nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        for late, p in zip(target.parameters(), net.parameters(), strict=True):
            late.data = p.data  # cause: GS107
        with torch.no_grad():
            goal = target(torch.randn(8, 3))
        opt.zero_grad()
        (net(torch.randn(8, 3)) - goal).pow(2).mean().backward()
        opt.step()


def good_average_swapped_in() -> None:
    import copy

    import torch
    from torch import nn

    net = nn.Linear(3, 1)
    average = copy.deepcopy(net).requires_grad_(False)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        net(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for slow, p in zip(average.parameters(), net.parameters(), strict=True):
                slow.lerp_(p, 0.1)
        kept = [p.data for p in net.parameters()]
        for slow, p in zip(average.parameters(), net.parameters(), strict=True):
            p.data = slow.data
        with torch.no_grad():
            assert net(torch.randn(2, 3)).shape == (2, 1)
        for own, p in zip(kept, net.parameters(), strict=True):
            p.data = own


def good_values_copied() -> None:
    import torch
    from torch import nn

    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    with torch.no_grad():
        second.weight.copy_(first.weight)
    third = nn.Linear(3, 3)
    third.weight = nn.Parameter(first.weight.detach().clone())
    opt = torch.optim.SGD([*first.parameters(), *second.parameters(), *third.parameters()], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        third(second(first(torch.randn(4, 3)))).pow(2).mean().backward()
        opt.step()


def good_shared_with_a_frozen_copy() -> None:
    import torch
    from torch import nn

    model, shown = nn.Linear(3, 3), nn.Linear(3, 3)
    shown.requires_grad_(False)
    shown.weight.data = model.weight.data
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(4, 3)).pow(2).mean().backward()
        opt.step()
    with torch.no_grad():
        shown.eval()
        assert shown(torch.randn(2, 3)).shape == (2, 3)


def bad_transposed() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Tied(nn.Module):
        def __init__(self, d: int, k: int) -> None:
            super().__init__()
            self.enc = nn.Linear(d, k)
            self.dec = nn.Linear(k, d)
            self.dec.weight.data = self.enc.weight.data.T  # cause: GS107

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.dec(nn.functional.softplus(self.enc(x)))
            return y

    model = Tied(6, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        x = torch.randn(20, 6)
        loss = torch.mean((model(x) - x) ** 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_begun_with_the_transposed_values() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    enc, dec = nn.Linear(6, 3), nn.Linear(3, 6)
    dec.weight.data.copy_(enc.weight.data.t())
    opt = torch.optim.SGD([*enc.parameters(), *dec.parameters()], lr=0.05)
    for _ in range(3):
        x = torch.randn(20, 6)
        loss = torch.mean((dec(enc(x).tanh()) - x) ** 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_state_taken_over_as_it_is() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    left = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
    right = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
    right.load_state_dict(left.state_dict(), assign=True)  # cause: GS107
    opt = torch.optim.SGD([*left.parameters(), *right.parameters()], lr=0.05)
    for _ in range(3):
        a = torch.randn(32, 5)
        u, v = left(a), right(a + 0.1 * torch.randn(32, 5))
        loss = (u - v).square().mean() + (u.std(0) - 1).square().mean() + (v.std(0) - 1).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_state_taken_over_by_the_one_that_goes_on() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def fit(model: nn.Module) -> None:
        opt = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(3):
            x = torch.randn(32, 5)
            loss = (model(x) - x[:, :3]).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()

    first, second = nn.Linear(5, 3), nn.Linear(5, 3)
    fit(first)
    second.load_state_dict(first.state_dict(), assign=True)
    fit(second)


def bad_layer_around_the_weight() -> None:
    import torch
    from torch import nn

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.out = nn.Linear(4, 9, bias=False)
            self.table = nn.Embedding(9, 4, _weight=self.out.weight)  # cause: GS107
            self.cell = nn.GRU(4, 4, batch_first=True)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            hidden, _ = self.cell(self.table(tokens))
            return self.out(hidden)

    model = Decoder()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        tokens = torch.randint(9, (4, 6))
        loss = nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_layer_around_a_frozen_weight() -> None:
    import torch
    from torch import nn

    words = nn.Embedding(9, 4)
    frozen = nn.Embedding.from_pretrained(words.weight.detach())
    head = nn.Linear(8, 9)
    opt = torch.optim.Adam([*words.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        tokens = torch.randint(9, (16,))
        loss = nn.functional.cross_entropy(head(torch.cat([words(tokens), frozen(tokens)], 1)), tokens)
        opt.zero_grad()
        loss.backward()
        opt.step()
