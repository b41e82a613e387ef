"""More programs of GS715: each bad one is reported at its marks, each good one by no rule."""


def bad_norm_by_hand() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Flatten(), nn.Linear(48, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        mixed = torch.randn(6, 3, 4, 4, requires_grad=True)
        scores = critic(mixed).mean(1)
        gradients = torch.autograd.grad(scores.sum(), mixed, create_graph=True)[0]
        norm = torch.sqrt(gradients.pow(2).sum(dim=1) + 1e-12)  # cause: GS715
        penalty = (norm - 1).pow(2).mean()  # effect: GS715
        opt.zero_grad()
        (scores.mean() + penalty).backward()
        opt.step()


def bad_single_channel() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(144, 1))
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        mixed = torch.randn(5, 1, 8, 8, requires_grad=True)
        scores = critic(mixed).view(-1)
        gradients = torch.autograd.grad(scores, mixed, torch.ones(5), create_graph=True)[0]
        norm = torch.norm(gradients, 2, 1)  # cause: GS715
        loss = scores.mean() + 10 * torch.mean((norm - 1.0) ** 2)  # effect: GS715
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_stacked_batches() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        one, two = torch.randn(5, 6), torch.randn(5, 6)
        points = torch.stack([one, two, (one + two) / 2]).requires_grad_()
        scores = critic(points)
        (gradients,) = torch.autograd.grad(scores, points, torch.ones_like(scores), create_graph=True)
        norm = gradients.norm(2, dim=1)  # cause: GS715
        loss = scores[0].mean() - scores[1].mean() + 10 * ((norm - 1) ** 2).mean()  # effect: GS715
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_stacked_batches() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        one, two = torch.randn(5, 6), torch.randn(5, 6)
        points = torch.stack([one, two, (one + two) / 2]).requires_grad_()
        scores = critic(points)
        (gradients,) = torch.autograd.grad(scores, points, torch.ones_like(scores), create_graph=True)
        norm = gradients.norm(2, dim=-1)
        loss = scores[0].mean() - scores[1].mean() + 10 * ((norm - 1) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_distance_field() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    field = nn.Sequential(nn.Linear(3, 16), nn.Softplus(), nn.Linear(16, 1))
    opt = torch.optim.Adam(field.parameters())
    for shape in ((20, 3), (4, 5, 3), (20, 3)):
        points = torch.randn(shape, requires_grad=True)
        distance = field(points)
        (gradients,) = torch.autograd.grad(distance.sum(), points, create_graph=True)
        loss = ((gradients.norm(dim=-1) - 1) ** 2).mean() + distance.abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_forces_of_atoms() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    energy = nn.Sequential(nn.Flatten(), nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(energy.parameters())
    for _ in range(3):
        places = torch.randn(6, 4, 3, requires_grad=True)
        measured = torch.rand(6, 4)
        (pull,) = torch.autograd.grad(energy(places).sum(), places, create_graph=True)
        loss = (pull.norm(dim=-1) - measured).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_penalty_of_samples() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh(), nn.Conv2d(4, 1, 3))  # one score for each patch
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        mixed = torch.randn(5, 3, 8, 8, requires_grad=True)
        scores = critic(mixed)
        (gradients,) = torch.autograd.grad(scores, mixed, torch.ones_like(scores), create_graph=True)
        norms = gradients.view(5, -1).norm(2, dim=1)
        loss = (
            scores.mean()
            + ((norms - 1) ** 2).mean()
            + (gradients.square().sum((1, 2, 3)).sqrt() - 1).pow(2).mean()
        )
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_pulled_to_zero() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(144, 1))
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        real = torch.randn(5, 3, 8, 8, requires_grad=True)
        scores = critic(real)
        (gradients,) = torch.autograd.grad(scores.sum(), real, create_graph=True)
        loss = nn.functional.softplus(-scores).mean() + 0.1 * gradients.pow(2).sum(1).sum((1, 2)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_norm_over_the_samples() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        mixed = torch.randn(16, 2, requires_grad=True)
        (slopes,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
        penalty = ((slopes.norm(2, dim=0) - 1) ** 2).mean()  # cause: GS715 # effect: GS715
        loss = 10 * penalty + critic(torch.randn(16, 2)).mean() - critic(torch.randn(16, 2) + 1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_one_norm_of_the_whole_batch() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        mixed = torch.randn(16, 2, requires_grad=True)
        scores = critic(mixed)
        (slopes,) = torch.autograd.grad(scores, mixed, torch.ones_like(scores), create_graph=True)
        penalty = (slopes.norm(2) - 1) ** 2  # cause: GS715 # effect: GS715
        loss = 10 * penalty + critic(torch.randn(16, 2)).mean() - critic(torch.randn(16, 2) + 1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_batches_on_an_axis_of_their_own() -> None:
    """Three batches on an axis of their own: the second one holds the samples."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        real, fake = torch.randn(6, 4), torch.randn(6, 4) + 1
        share = torch.rand(6, 1)
        mixed = torch.stack([real + share * (fake - real), real, fake]).requires_grad_()
        scores = critic(mixed)
        (gradients,) = torch.autograd.grad(scores, mixed, torch.ones_like(scores), create_graph=True)
        norm = gradients.norm(2, dim=1)  # cause: GS715
        loss = scores[2].mean() - scores[1].mean() + 10 * ((norm - 1) ** 2).mean()  # effect: GS715
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_batches_on_an_axis_of_their_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        real, fake = torch.randn(6, 4), torch.randn(6, 4) + 1
        share = torch.rand(6, 1)
        mixed = torch.stack([real + share * (fake - real), real, fake]).requires_grad_()
        scores = critic(mixed)
        (gradients,) = torch.autograd.grad(scores, mixed, torch.ones_like(scores), create_graph=True)
        loss = scores[2].mean() - scores[1].mean() + 10 * ((gradients.norm(2, dim=-1) - 1) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
