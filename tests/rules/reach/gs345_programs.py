"""More programs of GS345: each bad one is reported at its marks, each good one by no rule."""


def bad_no_sum_at_all() -> None:
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mean, self.log_std = (
                nn.Parameter(torch.randn(4, 4) / 2),
                nn.Parameter(torch.full((4, 4), -3.0)),
            )

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            std = self.log_std.exp()
            divergence = 0.5 * (std**2 + self.mean**2 - 1 - 2 * self.log_std).sum()
            return torch.tanh(x @ (self.mean + std * torch.randn_like(std))), divergence

    torch.manual_seed(0)
    layers = nn.ModuleList(Layer() for _ in range(3))
    opt = torch.optim.Adam(layers.parameters(), lr=0.01)
    for _ in range(3):
        x, y = torch.randn(8, 4), torch.rand(8, 4)
        for layer in layers:
            x, kl = layer(x)  # cause: GS345
        loss = nn.functional.mse_loss(x, y) + 0.001 * kl
        opt.zero_grad()
        loss.backward()  # effect: GS345
        opt.step()


def bad_log_determinants() -> None:
    import torch
    from torch import nn

    class Coupling(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 4))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            one, two = x.chunk(2, 1)
            scale, shift = self.net(one).chunk(2, 1)
            return torch.cat([two * scale.exp() + shift, one], 1), scale.sum(1)

    torch.manual_seed(0)
    flow = nn.ModuleList(Coupling() for _ in range(4))
    opt = torch.optim.Adam(flow.parameters(), lr=1e-3)
    for _ in range(3):
        z = torch.randn(16, 4)
        for layer in flow:
            z, log_det = layer(z)  # cause: GS345
        loss = (0.5 * z.pow(2).sum(1) - log_det).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS345
        opt.step()


def good_states_and_lists() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = nn.ModuleList(nn.GRU(4, 4, batch_first=True) for _ in range(3))
    opt = torch.optim.Adam(layers.parameters(), lr=0.01)
    for _ in range(3):
        x, sizes = torch.randn(8, 5, 4), []
        for layer in layers:
            x, state = layer(x)
            sizes.append(x.pow(2).mean())
        loss = state.pow(2).mean() + torch.stack(sizes).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_refined_turn_by_turn() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(8, 4)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        x, y = torch.randn(8, 4), torch.rand(8, 4)
        guess = torch.zeros(8, 4)
        for _ in range(3):
            guess = guess + torch.tanh(net(torch.cat([x, guess], 1)))
            distance = nn.functional.mse_loss(guess, y)
        loss = distance + 1e-4 * net.weight.pow(2).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_attention_of_the_last_layer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = nn.ModuleList(nn.MultiheadAttention(4, 1, batch_first=True) for _ in range(2))
    opt = torch.optim.Adam(layers.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 5, 4)
        for layer in layers:
            x, weights = layer(x, x, x)
        loss = x.pow(2).mean() - 0.01 * (weights * weights.clamp(min=1e-6).log()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_watched_but_not_trained() -> None:
    """The size of each layer's output is only printed; the loss has the last one's on purpose."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
    opt = torch.optim.Adam(layers.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 4)
        for layer in layers:
            x = torch.tanh(layer(x))
            size = x.pow(2).mean()
            print(f"{size:.3f}")
        opt.zero_grad()
        (nn.functional.mse_loss(x, torch.rand(8, 4)) + 0.1 * size).backward()
        opt.step()


def bad_the_last_head_is_the_loss() -> None:
    import torch
    from torch import nn

    torch.manual_seed(1)
    trunk, heads = (
        nn.Linear(10, 8),
        nn.ModuleDict({name: nn.Linear(8, 1) for name in ("wet", "tall", "ripe")}),
    )
    opt = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.01)

    def criterion(predicted: dict[str, torch.Tensor], measured: dict[str, torch.Tensor]) -> torch.Tensor:
        for name, guess in predicted.items():
            error = nn.functional.smooth_l1_loss(guess, measured[name])  # cause: GS345
        return error

    for _ in range(4):
        bands = torch.randn(16, 10)
        shared = torch.relu(trunk(bands))
        predicted = {name: head(shared).squeeze(-1) for name, head in heads.items()}
        measured = {name: bands[:, i] for i, name in enumerate(heads)}
        opt.zero_grad()
        criterion(predicted, measured).backward()  # effect: GS345
        opt.step()


def good_summed_and_the_last_one_shown() -> None:
    import torch
    from torch import nn

    torch.manual_seed(1)
    trunk, heads = (
        nn.Linear(10, 8),
        nn.ModuleDict({name: nn.Linear(8, 1) for name in ("wet", "tall", "ripe")}),
    )
    opt = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.01)
    for _ in range(4):
        bands = torch.randn(16, 10)
        shared, total = torch.relu(trunk(bands)), torch.zeros(())
        for i, head in enumerate(heads.values()):
            error = nn.functional.smooth_l1_loss(head(shared).squeeze(-1), bands[:, i])
            total = total + error
        opt.zero_grad()
        total.backward()
        opt.step()
        print(error.item())


def good_tried_until_it_fits() -> None:
    import torch
    from torch import nn

    torch.manual_seed(1)
    net = nn.Linear(6, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(4):
        for _ in range(5):
            x = torch.randn(16, 6)
            loss = (net(x)[:, 0] - x[:, 0]).pow(2).mean()
            if x[:, 0].mean().abs() < 0.1:
                break
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_state_of_the_last_turn() -> None:
    import torch
    from torch import nn

    torch.manual_seed(1)
    cell, head = nn.GRUCell(3, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)

    def error_at_the_end(x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros(16, 8)
        for t in range(5):
            state = cell(x[:, t], state)
            loss = (head(state)[:, 0] - x[:, 0, 0]).pow(2).mean()
        return loss

    for _ in range(4):
        opt.zero_grad()
        error_at_the_end(torch.randn(16, 5, 3)).backward()
        opt.step()
