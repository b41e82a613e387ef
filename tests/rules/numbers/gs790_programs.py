"""More programs of GS790: each bad one is reported at its marks, each good one by no rule."""


def bad_discriminator_ends_in_a_sigmoid() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Critic(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(2, 8), nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out = self.last(torch.relu(self.first(x)))
            return torch.sigmoid(out)  # cause: GS790

    critic, maker = Critic(), nn.Linear(2, 2)
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    other = torch.optim.SGD(maker.parameters(), lr=0.1)
    for _ in range(6):
        real, fake = torch.randn(16, 2) + 3, maker(torch.randn(16, 2))
        on_real = nn.functional.relu(1 - critic(real)).mean()
        on_fake = nn.functional.relu(1 + critic(fake.detach())).mean()  # effect: GS790
        opt.zero_grad()
        (on_real + on_fake).backward()
        opt.step()
        other.zero_grad()
        (-critic(fake).mean()).backward()
        other.step()


def good_discriminator_of_scores() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic, maker = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1)), nn.Linear(2, 2)
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    other = torch.optim.SGD(maker.parameters(), lr=0.1)
    for _ in range(6):
        real, fake = torch.randn(16, 2) + 3, maker(torch.randn(16, 2))
        loss = torch.relu(1 - critic(real)).mean() + torch.relu(1 + critic(fake.detach())).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        other.zero_grad()
        (-critic(fake).mean()).backward()
        other.step()


def good_margin_that_probabilities_reach() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x, y = torch.randn(16, 4), torch.randint(0, 2, (16, 1))
        p = torch.sigmoid(model(x))
        loss = (torch.relu(0.6 - p) * y + torch.relu(p - 0.4) * (1 - y)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_kept_above_zero_before_a_logarithm() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x, y = torch.randn(16, 4), torch.randint(0, 2, (16, 1)).float()
        p = torch.sigmoid(model(x))
        odds = torch.clamp(1 + p, min=0)
        loss = (torch.log(odds) * (1 - y) - torch.log(p + 1e-6) * y).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_larger_of_zeros_and_a_margin() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden, self.out = nn.Linear(6, 12), nn.Linear(12, 1)

        def forward(self, payment: torch.Tensor) -> torch.Tensor:
            return self.out(torch.relu(self.hidden(payment))).squeeze(1).sigmoid()  # cause: GS790

    detector = Detector()
    opt = torch.optim.SGD(detector.parameters(), lr=0.1)
    for _ in range(6):
        payments = torch.randn(50, 6)
        fraud = (payments.sum(1) > 0.5).float()
        agreement = detector(payments) * (2 * fraud - 1)
        loss = torch.maximum(torch.zeros_like(agreement), 1 - agreement).mean()  # effect: GS790
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_larger_of_zeros_and_a_scores_margin() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    detector = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1))
    opt = torch.optim.SGD(detector.parameters(), lr=0.1)
    for _ in range(6):
        payments = torch.randn(50, 6)
        fraud = (payments.sum(1, keepdim=True) > 0.5).float()
        agreement = detector(payments) * (2 * fraud - 1)
        loss = torch.max(1 - agreement, torch.zeros(())).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_probability_above_a_floor() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x = torch.randn(16, 4)
        chance = torch.maximum(model(x).sigmoid(), torch.full((), 1e-6))
        loss = -(torch.where(x[:, :1] > 0, chance, 1 - chance + 1e-6)).log().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
