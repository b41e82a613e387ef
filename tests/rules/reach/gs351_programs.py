"""More programs of GS351: each bad one is reported at its marks, each good one by no rule."""


def bad_masks_of_both_parts() -> None:
    import torch
    from torch import nn

    def huber(e: torch.Tensor, d: float) -> torch.Tensor:
        near = (e.abs() <= d).float()
        far = (e > d).float()  # cause: GS351
        return near * e**2 / 2 + far * d * (e.abs() - d / 2)

    torch.manual_seed(0)
    critic = nn.Linear(4, 1)
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(3):
        state = torch.randn(64, 4)
        returns = 20 * state[:, 0] - 5
        loss = huber(returns - critic(state).squeeze(1), 10.0).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_both_parts() -> None:
    import torch
    from torch import nn

    def huber(e: torch.Tensor, d: float) -> torch.Tensor:
        near = (e.abs() <= d).float()
        far = (e.abs() > d).float()
        return near * e**2 / 2 + far * d * (e.abs() - d / 2)

    torch.manual_seed(0)
    critic = nn.Linear(4, 1)
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(3):
        state = torch.randn(64, 4)
        returns = 20 * state[:, 0] - 5
        loss = huber(returns - critic(state).squeeze(1), 10.0).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_both_signs_apart() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(64, 4)
        late = model(x) - 4 * x[:, :1]
        loss = torch.where(late > 0, late.exp() - 1, late**2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_activation_by_parts() -> None:
    import torch
    from torch import nn

    def swish(x: torch.Tensor) -> torch.Tensor:
        return torch.where(x > 3, x, torch.where(x < -3, torch.zeros_like(x), x * (x + 3) / 6))

    torch.manual_seed(0)
    first, last = nn.Linear(4, 8), nn.Linear(8, 1)
    opt = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=0.01)
    for _ in range(3):
        x = 6 * torch.randn(64, 4)
        loss = (last(swish(first(x))) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
