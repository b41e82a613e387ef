"""More programs of GS733: each bad one is reported at its marks, each good one by no rule."""


def bad_activation_behind_the_last_layer_only() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(2, 8)  # cause: GS733
            self.second = nn.Linear(8, 8)
            self.last = nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sigmoid(self.last(self.second(self.first(x))))

    torch.manual_seed(0)
    x = torch.randn(64, 2)
    y = (x[:, :1] * x[:, 1:] > 0).float()
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(400):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()  # effect: GS733
        opt.step()


def good_loss_that_falls() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x.sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(400):
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()


def good_low_rank() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(64, 8), torch.randn(64, 8)
    down, up = nn.Linear(8, 2, bias=False), nn.Linear(2, 8, bias=False)
    opt = torch.optim.SGD([*down.parameters(), *up.parameters()], lr=0.001)
    for _ in range(400):
        opt.zero_grad()
        nn.functional.mse_loss(up(down(x)), y).backward()
        opt.step()


def good_stem_of_a_residual_block() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    stem, body, head = nn.Linear(8, 16), nn.Linear(16, 16), nn.Linear(16, 3)
    model = nn.ModuleList([stem, body, head])
    opt = torch.optim.SGD(model.parameters(), lr=1e-6)
    for _ in range(60):
        hidden = stem(torch.randn(16, 8))
        out = head(hidden + torch.relu(body(hidden)))
        opt.zero_grad()
        nn.functional.cross_entropy(out, torch.randint(0, 3, (16,))).backward()
        opt.step()


def bad_products_with_parameters() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Ring(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w1 = nn.Parameter(torch.randn(2, 16) / 2**0.5)
            self.b1 = nn.Parameter(torch.zeros(16))
            self.w2 = nn.Parameter(torch.randn(16, 16) / 4)
            self.b2 = nn.Parameter(torch.zeros(16))
            self.w3 = nn.Parameter(torch.randn(1, 16) / 4)

        def forward(self, p: torch.Tensor) -> torch.Tensor:
            h = torch.addmm(self.b1, p, self.w1)  # cause: GS733
            h = torch.einsum("ni,io->no", h, self.w2) + self.b2
            return (h @ self.w3.t()).squeeze(-1)

    torch.manual_seed(0)
    points = torch.rand(256, 2) * 2 - 1
    inside = (points.norm(dim=1) < 0.8).float()
    net = Ring()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(150):
        opt.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(net(points), inside)
        loss.backward()  # effect: GS733
        opt.step()


def good_products_with_a_sine_between() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    w1 = nn.Parameter(torch.randn(2, 16))
    w2 = nn.Parameter(torch.randn(16, 1) / 4)
    points = torch.rand(256, 2) * 2 - 1
    inside = (points.norm(dim=1) < 0.8).float()
    opt = torch.optim.Adam([w1, w2], lr=0.01)
    for _ in range(150):
        opt.zero_grad()
        logits = (torch.sin(points @ w1 + 1) @ w2).squeeze(-1)
        nn.functional.binary_cross_entropy_with_logits(logits, inside).backward()
        opt.step()


def good_clamped_between_at_a_small_rate() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, last = nn.Linear(2, 8), nn.Linear(8, 1)
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.005)
    for _ in range(200):
        opt.zero_grad()
        nn.functional.mse_loss(torch.sigmoid(last(first(x).clamp(min=0))), y).backward()
        opt.step()
