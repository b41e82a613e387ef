"""More programs of GS399: each bad one is reported at its marks, each good one by no rule."""


def bad_burgers() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Field(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))

        def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
            return self.net(torch.cat([x, t], dim=1))

    def residual(model: nn.Module, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        x.requires_grad_(True)
        t.requires_grad_(True)
        u = model(x, t)
        u_t, u_x = torch.autograd.grad(u.sum(), (t, x), create_graph=True)
        u_xx = torch.autograd.grad(u_x.sum(), x, retain_graph=True)[0]  # cause: GS399
        return u_t + u * u_x - 0.01 * u_xx

    model = Field()
    opt = torch.optim.Adam(model.parameters(), lr=0.001)
    for _ in range(3):
        x, t = torch.rand(64, 1) * 2 - 1, torch.rand(64, 1)
        start = (model(x.detach(), torch.zeros_like(x)) + torch.sin(torch.pi * x.detach())).pow(2).mean()
        loss = residual(model, x, t).pow(2).mean() + start
        opt.zero_grad()
        loss.backward()  # effect: GS399
        opt.step()


def good_adversarial_samples() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        x, y = torch.randn(32, 4, requires_grad=True), torch.randint(2, (32,))
        (slope,) = torch.autograd.grad(nn.functional.cross_entropy(net(x), y), x)
        loss = nn.functional.cross_entropy(net((x + 0.1 * slope.sign()).detach()), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_balance_of_two_losses() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        out = net(torch.randn(32, 4))
        one, other = (out[:, 0] - 1).pow(2).mean(), (out[:, 1] + 1).pow(2).mean()
        (first,) = torch.autograd.grad(one, net[2].weight, retain_graph=True)
        (second,) = torch.autograd.grad(other, net[2].weight, retain_graph=True)
        loss = one + other * (first.norm() / (second.norm() + 1e-4))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_slope_that_is_a_target() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    energy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    score = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    opt = torch.optim.Adam([*energy.parameters(), *score.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 2, requires_grad=True)
        given = energy(x)
        (slope,) = torch.autograd.grad(given.sum(), x, retain_graph=True)
        loss = (score(x.detach()) + slope).pow(2).mean() + given.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_by_the_input_alone() -> None:
    import torch
    from torch import nn

    def slope(y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad(y, x, torch.ones_like(y), retain_graph=True)[0]  # cause: GS399

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.rand(32, 1, requires_grad=True)
        u = net(x)
        loss = (slope(u, x) + u).pow(2).mean() + (net(torch.zeros(1, 1)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS399
        opt.step()


def good_input_moved_by_the_derivative() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        clean = torch.randn(32, 4)
        noisy = (clean + 0.1 * torch.randn(32, 4)).requires_grad_()
        (slope,) = torch.autograd.grad((net(noisy) - clean).pow(2).sum(), noisy)
        loss = (net(noisy + 0.05 * slope.sign()) - clean).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
