"""Networks compared with other noise than they were given, and right ones that look alike: more for GS436."""


def bad_difference_by_hand() -> None:
    import torch
    from torch import nn

    betas = torch.linspace(1e-4, 0.02, 50)
    kept = torch.cumprod(1 - betas, 0)
    net = nn.Sequential(nn.Linear(3, 16), nn.SiLU(), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(4):
        x0, t = torch.randn(32, 2) * 0.2 + 1, torch.randint(0, 50, (32,))
        noise = torch.randn_like(x0)
        xt = kept[t].sqrt()[:, None] * x0 + (1 - kept[t]).sqrt()[:, None] * noise  # effect: GS436
        found = net(torch.cat([xt, t[:, None] / 50], 1))
        loss = (found - torch.randn_like(x0)).pow(2).mean()  # cause: GS436
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_data_of_chance_alone() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.2), nn.ReLU(), nn.Linear(16, 4))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(4):
        x = torch.randn(32, 4) + 0.1 * torch.randn(32, 4)
        loss = nn.functional.mse_loss(net(x), torch.randn(32, 4))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_velocity_of_data_and_noise() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(3, 16), nn.SiLU(), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(4):
        x1, x0, t = torch.randn(32, 2) * 0.2 + 1, torch.randn(32, 2), torch.rand(32, 1)
        xt = (1 - t) * x0 + t * x1
        loss = (net(torch.cat([xt, t], 1)) - (x1 - x0)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_drawn_by_the_function_that_mixes() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Diffusion:
        def __init__(self, model: nn.Module) -> None:
            self.model = model
            self.kept = torch.linspace(0.99, 0.1, 20)

        def noised(self, x: torch.Tensor, t: torch.Tensor, noise: Any = None) -> torch.Tensor:
            if noise is None:
                noise = torch.randn_like(x)
            kept = self.kept[t][:, None]
            return kept.sqrt() * x + (1 - kept).sqrt() * noise  # effect: GS436

        def loss(self, x: torch.Tensor) -> torch.Tensor:
            t = torch.randint(0, 20, (len(x),))
            noise = torch.randn_like(x)  # cause: GS436
            told = torch.cat([self.noised(x, t), t[:, None] / 20], dim=1)
            return nn.functional.mse_loss(self.model(told), noise)

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    diffusion = Diffusion(model)
    for _ in range(5):
        loss = diffusion.loss(torch.ones(32, 3) + 0.1 * torch.randn(32, 3))
        opt.zero_grad()
        loss.backward()
        opt.step()
