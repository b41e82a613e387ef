"""More programs of GS321: each bad one is reported at its marks, each good one by no rule."""


def bad_residual_that_is_only_logged() -> None:
    import torch
    from torch import nn

    def residual(net: nn.Module, t: torch.Tensor) -> torch.Tensor:
        y = net(t)
        dy = torch.autograd.grad(y, t, torch.ones_like(y), create_graph=True)[0]
        return (dy + y).square().mean()

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(4):
        physics = residual(net, torch.rand(20, 1, requires_grad=True))  # cause: GS321
        data = (net(torch.zeros(1, 1)) - 1).square().mean()
        opt.zero_grad()
        data.backward()  # effect: GS321
        opt.step()
        print(f"{data.item():.4f} {physics.item():.4f}")


def bad_weighted_and_kept_on_an_object() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Trainer:
        def __init__(self) -> None:
            self.net = nn.Linear(4, 1)
            self.opt = torch.optim.Adam(self.net.parameters())

        def step(self, x: torch.Tensor) -> None:
            energy = torch.tanh(self.net(x))
            force = torch.autograd.grad(energy.sum(), x, create_graph=True)[0]
            self.smooth = 0.1 * force.pow(2).sum(1).mean()  # cause: GS321
            self.opt.zero_grad()
            (energy - 1).pow(2).mean().backward()  # effect: GS321
            self.opt.step()

    torch.manual_seed(0)
    trainer = Trainer()
    for _ in range(4):
        trainer.step(torch.randn(8, 4, requires_grad=True))


def good_added_later() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 3, requires_grad=True)
        slope = torch.autograd.grad(critic(x).sum(), x, create_graph=True)[0]
        terms = {"slope": slope.pow(2).mean(), "level": critic(x).mean()}
        opt.zero_grad()
        sum(terms.values()).backward()
        opt.step()


def good_every_second_step() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for step in range(8):
        x = torch.randn(16, 3, requires_grad=True)
        slope = torch.autograd.grad(critic(x).sum(), x, create_graph=True)[0]
        penalty = slope.pow(2).mean()
        loss = critic(x).mean()
        if step % 2:
            loss = loss + penalty
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_passes_of_its_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 3, requires_grad=True)
        slope = torch.autograd.grad(critic(x).sum(), x, create_graph=True)[0]
        opt.zero_grad()
        slope.pow(2).mean().backward()
        critic(x.detach()).mean().backward()
        opt.step()


def good_measured_without_a_graph() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 3, requires_grad=True)
        slope = torch.autograd.grad(critic(x).sum(), x)[0]
        steep = slope.norm(dim=1).max()
        loss = critic(x.detach()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(steep.item())


def bad_equation_of_the_second_order() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    history = []

    def derivative(y, t):
        return torch.autograd.grad(y, t, torch.ones_like(y), create_graph=True)[0]

    def losses(t, y, where):
        where = where.requires_grad_()
        u = net(where)
        velocity = derivative(u, where)
        gap = derivative(velocity, where) + 0.4 * velocity + 4.0 * u
        return {
            "data": nn.functional.mse_loss(net(t), y),
            "start": (net(torch.zeros(1, 1)) - 1).square().sum(),
            "physics": torch.mean(gap**2),  # cause: GS321
        }

    for _ in range(4):
        t = torch.rand(12, 1)
        parts = losses(t, torch.cos(2 * t), torch.rand(16, 1))
        total = sum(parts[key] for key in ("data", "start"))
        opt.zero_grad()
        total.backward()  # effect: GS321
        opt.step()
        history.append({key: value.item() for key, value in parts.items()})


def good_equation_of_the_second_order() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    history = []

    def derivative(y, t):
        return torch.autograd.grad(y, t, torch.ones_like(y), create_graph=True)[0]

    def losses(t, y, where):
        where = where.requires_grad_()
        u = net(where)
        velocity = derivative(u, where)
        gap = derivative(velocity, where) + 0.4 * velocity + 4.0 * u
        return {
            "data": nn.functional.mse_loss(net(t), y),
            "start": (net(torch.zeros(1, 1)) - 1).square().sum(),
            "physics": torch.mean(gap**2),
        }

    for _ in range(4):
        t = torch.rand(12, 1)
        parts = losses(t, torch.cos(2 * t), torch.rand(16, 1))
        total = sum(parts[key] for key in ("data", "start", "physics"))
        opt.zero_grad()
        total.backward()
        opt.step()
        history.append({key: value.item() for key, value in parts.items()})


def good_residual_of_the_result() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        x = torch.rand(16, 1, requires_grad=True)
        slope = torch.autograd.grad(model(x).sum(), x, create_graph=True)[0]
        curve = torch.autograd.grad(slope.sum(), x, create_graph=True)[0]
        opt.zero_grad()
        (curve - 2).pow(2).mean().backward()
        opt.step()
    points = torch.linspace(0, 1, 11).unsqueeze(1).requires_grad_()
    slope = torch.autograd.grad(model(points).sum(), points, create_graph=True)[0]
    curve = torch.autograd.grad(slope.sum(), points, create_graph=True)[0]
    print((curve - 2).abs().mean().item() > 0)
