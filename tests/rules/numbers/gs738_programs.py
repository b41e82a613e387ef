"""More programs of GS738: each bad one is reported at its marks, each good one by no rule."""


def bad_residual_of_a_helper() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Field(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second, self.last = nn.Linear(2, 16), nn.Linear(16, 16), nn.Linear(16, 1)

        def forward(self, points: torch.Tensor) -> torch.Tensor:
            hidden = F.relu(self.first(points))  # cause: GS738
            return self.last(F.relu(self.second(hidden)))

    def slope(of: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad(of, by, torch.ones_like(of), create_graph=True)[0]

    torch.manual_seed(0)
    field = Field()
    opt = torch.optim.Adam(field.parameters(), lr=0.01)
    for _ in range(4):
        t = torch.rand(24, 1, requires_grad=True)
        s = torch.rand(24, 1, requires_grad=True)
        heat = field(torch.cat([t, s], 1))
        bent = slope(slope(heat, s), s)  # effect: GS738
        loss = (slope(heat, t) - 0.3 * bent).pow(2).mean() + heat.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_leaky_slope() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    potential = nn.Sequential(nn.Linear(3, 12), nn.LeakyReLU(0.1), nn.Linear(12, 1))  # cause: GS738
    opt = torch.optim.SGD(potential.parameters(), lr=0.01)
    for _ in range(4):
        place = torch.randn(10, 3, requires_grad=True)
        force = torch.autograd.grad(potential(place).sum(), place, create_graph=True)[0]
        stiff = torch.autograd.grad(force[:, 0].sum(), place, create_graph=True)[0][:, 0]  # effect: GS738
        loss = (force.norm(dim=1) - 1).pow(2).mean() + (stiff - 2).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_with_a_method() -> None:
    import torch

    torch.manual_seed(0)
    w = torch.randn(1, 8, requires_grad=True)
    v = torch.randn(8, 1, requires_grad=True)
    opt = torch.optim.SGD([w, v], lr=0.01)
    for _ in range(4):
        x = torch.linspace(0, 1, 20).reshape(-1, 1).requires_grad_()
        y = (x @ w).relu() @ v  # cause: GS738
        dy = torch.autograd.grad(y.sum(), x, create_graph=True)[0]
        ddy = torch.autograd.grad(dy.sum(), x, create_graph=True)[0]  # effect: GS738
        loss = (ddy + y - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_softplus() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    well = nn.Sequential(nn.Linear(3, 12), nn.Softplus(), nn.Linear(12, 1))
    opt = torch.optim.SGD(well.parameters(), lr=0.01)
    for _ in range(4):
        place = torch.randn(10, 3, requires_grad=True)
        force = torch.autograd.grad(well(place).sum(), place, create_graph=True)[0]
        stiff = torch.autograd.grad(force[:, 0].sum(), place, create_graph=True)[0][:, 0]
        loss = (force.norm(dim=1) - 1).pow(2).mean() + (stiff - 2).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_penalty_of_a_critic() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(4):
        between = torch.randn(8, 4, requires_grad=True)
        slope = torch.autograd.grad(critic(between).sum(), between, create_graph=True)[0]
        loss = critic(torch.randn(8, 4)).mean() + (slope.norm(dim=1) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_relu_beside_a_sine() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, last = nn.Linear(1, 16), nn.Linear(16, 1)
    opt = torch.optim.Adam([*first.parameters(), *last.parameters()])
    for _ in range(3):
        x = torch.rand(32, 1, requires_grad=True)
        u = last(torch.relu(torch.sin(first(x))))
        du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        ddu = torch.autograd.grad(du.sum(), x, create_graph=True)[0]
        loss = (ddu + u).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_boundary_in_the_solution() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters())
    for _ in range(3):
        x = torch.rand(32, 1, requires_grad=True)
        u = x * (1 - x) * net(x)
        du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        ddu = torch.autograd.grad(du.sum(), x, create_graph=True)[0]
        loss = (ddu + u).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_hessian_vector_product() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    weight = net[0].weight
    for _ in range(3):
        loss = net(torch.randn(8, 4)).pow(2).mean()
        (grad,) = torch.autograd.grad(loss, weight, create_graph=True)
        (curve,) = torch.autograd.grad((grad * torch.randn_like(weight)).sum(), weight)
        print(f"{curve.norm().item():.3f}")


def bad_looked_at_after_the_training() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    parabola = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 1))  # cause: GS738
    opt = torch.optim.Adam(parabola.parameters())
    for _ in range(10):
        x = torch.rand(32, 1)
        opt.zero_grad()
        (parabola(x) - x**2).pow(2).mean().backward()
        opt.step()
    x = torch.rand(5, 1, requires_grad=True)
    du = torch.autograd.grad(parabola(x).sum(), x, create_graph=True)[0]
    print(torch.autograd.grad(du.sum(), x, create_graph=True)[0].shape)  # effect: GS738
