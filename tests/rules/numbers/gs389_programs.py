"""More programs of GS389: each bad one is reported at its marks, each good one by no rule."""


def bad_mean_between() -> None:
    from types import SimpleNamespace

    import torch
    from torch import nn

    settings = SimpleNamespace(beta=0.25)

    def divergence(mean: torch.Tensor, log_variance: torch.Tensor) -> torch.Tensor:
        each = 0.5 * (log_variance.exp() + mean.square() - 1 - log_variance).sum(1)
        result: torch.Tensor = each * settings.beta  # cause: GS389
        return result

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(4, 4), nn.Linear(2, 4)
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.05)
    for _ in range(4):
        x = torch.randn(16, 4)
        mean, log_variance = encoder(x).chunk(2, dim=1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        apart = divergence(mean, log_variance).mean()
        loss = nn.functional.mse_loss(decoder(z), x) + settings.beta * apart  # effect: GS389
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_squared_on_purpose() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    temperature = 2.5
    teacher, student = nn.Linear(4, 3).requires_grad_(False), nn.Linear(4, 3)
    opt = torch.optim.SGD(student.parameters(), lr=0.05)
    for _ in range(4):
        x = torch.randn(16, 4)
        soft = torch.log_softmax(student(x) / temperature, dim=1)
        wanted = torch.softmax(teacher(x) / temperature, dim=1)
        loss = nn.functional.kl_div(soft, wanted, reduction="batchmean") * temperature * temperature
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_two_weights_alike() -> None:
    import torch
    from torch import nn

    class Smooth(nn.Module):
        def __init__(self, weight: float):
            super().__init__()
            self.weight = weight

        def forward(self, y: torch.Tensor) -> torch.Tensor:
            return self.weight * (y[1:] - y[:-1]).abs().mean()

    torch.manual_seed(0)
    model, smooth, share = nn.Linear(4, 1), Smooth(float("0.5")), float("0.5")
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        y = model(x)
        loss = nn.functional.mse_loss(y, x.sum(1, keepdim=True)) + share * smooth(y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_discounted() -> None:
    import torch
    from torch import nn

    gamma = 0.9

    def later(values: list[torch.Tensor]) -> torch.Tensor:
        return gamma * (values[1] + gamma * values[2])

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        values = list(model(torch.randn(3, 4)).flatten().unbind())
        loss = (values[0] + later(values) - 1).square()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_half_each() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.Adam(net.parameters())

    def value_loss(value: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        return 0.5 * (value - wanted).pow(2).mean()

    def total(out: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        return out[:, 0].mean() + 0.5 * value_loss(out[:, 1], wanted)

    for _ in range(5):
        x = torch.randn(8, 4)
        opt.zero_grad()
        total(net(x), x.sum(1)).backward()
        opt.step()


def good_two_settings_of_one_value() -> None:
    import torch
    from torch import nn

    class Half:
        def __init__(self, scale: float = 0.5) -> None:
            self.scale = scale

        def __call__(self, value: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
            return self.scale * (value - wanted).pow(2).mean()

    class Total:
        def __init__(self, coefficient: float = 0.5) -> None:
            self.coefficient = coefficient
            self.half = Half()

        def __call__(self, out: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
            return out[:, 0].mean() + self.coefficient * self.half(out[:, 1], wanted)

    torch.manual_seed(0)
    net, total = nn.Linear(4, 2), Total()
    opt = torch.optim.Adam(net.parameters())
    for _ in range(5):
        x = torch.randn(8, 4)
        opt.zero_grad()
        total(net(x), x.sum(1)).backward()
        opt.step()


def bad_entry_of_a_dict() -> None:
    import torch
    from torch import nn

    def terms(
        x: torch.Tensor, out: tuple[torch.Tensor, ...], weights: dict[str, float]
    ) -> dict[str, torch.Tensor]:
        again, mean, logvar = out
        gap = -0.5 * (1 + logvar - mean.square() - logvar.exp())
        return {
            "near": torch.square(again - x).sum(-1).mean() + weights["shift"],
            "gap": torch.mul(gap.sum(-1), weights["gap"]).mean(),  # cause: GS389
        }

    def total(parts: dict[str, torch.Tensor], weights: dict[str, float]) -> torch.Tensor:
        return parts["near"] + parts["gap"] * weights["gap"]  # effect: GS389

    torch.manual_seed(0)
    weights = {"gap": 0.05, "shift": 0.1}
    down, up = nn.Linear(12, 6), nn.Linear(3, 12)
    opt = torch.optim.Adam([*down.parameters(), *up.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 12)
        mean, logvar = down(x).chunk(2, -1)
        out = up(mean + torch.randn_like(mean) * (logvar / 2).exp()), mean, logvar
        loss = total(terms(x, out, weights), weights)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_entry_of_a_dict() -> None:
    import torch
    from torch import nn

    def terms(
        x: torch.Tensor, out: tuple[torch.Tensor, ...], weights: dict[str, float]
    ) -> dict[str, torch.Tensor]:
        again, mean, logvar = out
        gap = -0.5 * (1 + logvar - mean.square() - logvar.exp())
        return {
            "near": torch.square(again - x).sum(-1).mean() + weights["shift"],
            "gap": gap.sum(-1).mean(),
        }

    def total(parts: dict[str, torch.Tensor], weights: dict[str, float]) -> torch.Tensor:
        return parts["near"] + parts["gap"] * weights["gap"]

    torch.manual_seed(0)
    weights = {"gap": 0.05, "shift": 0.1}
    down, up = nn.Linear(12, 6), nn.Linear(3, 12)
    opt = torch.optim.Adam([*down.parameters(), *up.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 12)
        mean, logvar = down(x).chunk(2, -1)
        out = up(mean + torch.randn_like(mean) * (logvar / 2).exp()), mean, logvar
        loss = total(terms(x, out, weights), weights)
        opt.zero_grad()
        loss.backward()
        opt.step()
