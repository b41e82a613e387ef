"""More programs of GS371: each bad one is reported at its marks, each good one by no rule."""


def bad_sum_of_a_mean() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.autograd import grad

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(5):
        real = torch.randn(16, 6, requires_grad=True)
        opt.zero_grad()
        real_loss = nn.functional.softplus(-critic(real)).mean()  # effect: GS371
        real_loss.backward(retain_graph=True)
        slope = grad(real_loss.sum(), real, create_graph=True)[0]  # cause: GS371
        (5 * (slope.view(slope.size(0), -1).norm(2, dim=1) ** 2).mean()).backward()
        opt.step()


def bad_mean_in_the_call() -> None:
    import torch
    from torch import nn
    from torch.autograd import grad

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(5):
        real, fake = torch.randn(8, 6) + 1, torch.randn(8, 6)
        share = torch.rand(8, 1)
        between = (share * real + (1 - share) * fake).requires_grad_()
        slope = grad(critic(between).mean(), between, create_graph=True)[0]  # cause: GS371  # effect: GS371
        penalty = ((slope.square().sum(1) + 1e-12).sqrt() - 1).square().mean()
        opt.zero_grad()
        (critic(fake).mean() - critic(real).mean() + 10 * penalty).backward()
        opt.step()


def bad_in_a_differential_equation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    field = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(field.parameters(), lr=0.01)
    for _ in range(5):
        t = torch.rand(32, 1, requires_grad=True)
        u = field(t)
        slope = torch.autograd.grad(u.mean(), t, create_graph=True)[0]  # cause: GS371  # effect: GS371
        loss = (slope + 2 * u).pow(2).mean() + (field(torch.zeros(1, 1)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_divided_by_its_norm() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        x = torch.randn(32, 4)
        with torch.no_grad():
            wanted = model(x).softmax(1)
        noise = (0.1 * torch.randn_like(x)).requires_grad_()
        distance = (
            nn.functional.kl_div(model(x + noise).log_softmax(1), wanted, reduction="none").sum(1).mean()
        )
        slope = torch.autograd.grad(distance, noise)[0]
        worst = 0.3 * slope / (slope.flatten(1).norm(dim=1, keepdim=True) + 1e-12)
        loss = nn.functional.kl_div(model(x + worst).log_softmax(1), wanted, reduction="batchmean")
        loss = loss + nn.functional.cross_entropy(model(x), torch.randint(3, (32,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_scaled_by_the_number_of_samples() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(5):
        real = torch.randn(16, 6, requires_grad=True)
        scores = critic(real)
        loss = nn.functional.softplus(-scores).mean()
        slope = 16 * torch.autograd.grad(scores.mean(), real, create_graph=True)[0]
        opt.zero_grad()
        (loss + slope.norm(dim=1).pow(2).mean()).backward()
        opt.step()


def good_all_of_the_gradient_at_once() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(5):
        x = torch.randn(16, 6, requires_grad=True)
        loss = (net(x) - x[:, :1]).square().mean()
        slope = torch.autograd.grad(loss, x, create_graph=True)[0]
        opt.zero_grad()
        (loss + 0.1 * slope.square().sum()).backward()
        opt.step()


def bad_forces_beside_data() -> None:  # fix: by hand
    import torch
    from torch import nn

    def forces(potential: nn.Module, places: torch.Tensor) -> torch.Tensor:
        apart = places[:, :, None] - places[:, None]
        energy = potential(apart.square().sum(-1).flatten(1)).mean()  # effect: GS371
        (slope,) = torch.autograd.grad(energy, places, create_graph=True)  # cause: GS371
        return torch.neg(slope)

    torch.manual_seed(0)
    potential = nn.Sequential(nn.Linear(9, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(potential.parameters(), lr=0.01)
    for _ in range(5):
        places = torch.randn(20, 3, 2)
        wanted = -3 * (places - places.mean(1, keepdim=True))
        loss = nn.functional.mse_loss(forces(potential, places.requires_grad_()), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_difference_to_data_by_hand() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 16), nn.Softplus(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(5):
        x = torch.randn(32, 2, requires_grad=True)
        height = net(x)
        mean = height.mean()  # effect: GS371
        slope = torch.autograd.grad(mean, x, create_graph=True)[0]  # cause: GS371
        loss = (slope - 2 * x.detach()).abs().mean() + (height - x.square().sum(1, keepdim=True)).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_forces_of_the_sum() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    potential = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(potential.parameters(), lr=0.01)
    for _ in range(5):
        places = torch.randn(20, 3, 2)
        wanted = -3 * (places - places.mean(1, keepdim=True))
        places.requires_grad_()
        energy = potential(places.flatten(1)).sum()
        slope = torch.autograd.grad(energy, places, create_graph=True)[0]
        loss = (slope + wanted).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_step_down_the_mean() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(5):
        x = torch.randn(16, 4, requires_grad=True)
        slope = torch.autograd.grad(net(x).square().mean(), x, create_graph=True)[0]
        moved = x.detach() - 16 * 0.1 * slope
        loss = net(moved).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
