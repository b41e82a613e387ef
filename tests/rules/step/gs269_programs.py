"""More programs of GS269: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_critic_of_a_generator() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    one, mone = torch.tensor(1.0), torch.tensor(-1.0)
    make, critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_critic = torch.optim.RMSprop(critic.parameters(), lr=0.005)
    opt_make = torch.optim.RMSprop(make.parameters(), lr=0.005)
    for _ in range(6):
        for _ in range(2):
            critic.zero_grad()
            critic(torch.randn(8, 2) + 1).mean().backward(one)
            with torch.no_grad():
                fake = make(torch.randn(8, 3))
            critic(fake).mean().backward(mone)
            for p in critic.parameters():
                p.data.clamp_(min=-0.02, max=0.02)  # cause: GS269
            opt_critic.step()  # effect: GS269
        make.zero_grad()
        for p in critic.parameters():
            p.requires_grad_(False)
        critic(make(torch.randn(8, 3))).mean().backward(one)
        opt_make.step()
        for p in critic.parameters():
            p.requires_grad_(True)


def good_clamped_on_both_sides() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.5)
    for _ in range(6):
        opt.zero_grad()
        x = torch.randn(8, 4)
        nn.functional.mse_loss(net(x), x.sum(1, keepdim=True)).backward()
        with torch.no_grad():
            net.weight.clamp_(-0.2, 0.2)
        opt.step()
        with torch.no_grad():
            net.weight.clamp_(-0.2, 0.2)


def good_gradients_are_clamped() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.5)
    for _ in range(6):
        opt.zero_grad()
        x = torch.randn(8, 4)
        nn.functional.mse_loss(net(x), x.sum(1, keepdim=True)).backward()
        for p in net.parameters():
            p.grad.clamp_(-0.1, 0.1)
        opt.step()


def good_clamped_before_the_forward() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.5)
    for _ in range(6):
        for p in net.parameters():
            p.data.clamp_(-0.2, 0.2)
        opt.zero_grad()
        x = torch.randn(8, 4)
        nn.functional.mse_loss(net(x), x.sum(1, keepdim=True)).backward()
        opt.step()


def bad_set_to_the_bound() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Factors(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.loads, self.parts = nn.Parameter(torch.rand(20, 3)), nn.Parameter(torch.rand(3, 15))

        @torch.no_grad()
        def project(self) -> None:
            for factor in (self.loads, self.parts):
                factor[factor < 0] = 0.0  # cause: GS269

    torch.manual_seed(0)
    table, factors = torch.rand(20, 3) @ torch.rand(3, 15).mul(2).sub(1).relu(), Factors()
    opt = torch.optim.Adam(factors.parameters(), lr=0.05)
    for _ in range(20):
        loss = (factors.loads @ factors.parts - table).square().sum()
        opt.zero_grad()
        loss.backward()
        factors.project()
        opt.step()  # effect: GS269


def bad_copied() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Factors(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.loads, self.parts = nn.Parameter(torch.rand(20, 3)), nn.Parameter(torch.rand(3, 15))

        @torch.no_grad()
        def project(self) -> None:
            for factor in (self.loads, self.parts):
                factor.copy_(torch.clamp(factor, min=0))  # cause: GS269

    torch.manual_seed(0)
    table, factors = torch.rand(20, 3) @ torch.rand(3, 15).mul(2).sub(1).relu(), Factors()
    opt = torch.optim.Adam(factors.parameters(), lr=0.05)
    for _ in range(20):
        loss = (factors.loads @ factors.parts - table).square().sum()
        opt.zero_grad()
        loss.backward()
        factors.project()
        opt.step()  # effect: GS269


def bad_given_as_data() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Factors(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.loads, self.parts = nn.Parameter(torch.rand(20, 3)), nn.Parameter(torch.rand(3, 15))

        @torch.no_grad()
        def project(self) -> None:
            for factor in (self.loads, self.parts):
                factor.data = factor.data.clamp(min=0)  # cause: GS269

    torch.manual_seed(0)
    table, factors = torch.rand(20, 3) @ torch.rand(3, 15).mul(2).sub(1).relu(), Factors()
    opt = torch.optim.Adam(factors.parameters(), lr=0.05)
    for _ in range(20):
        loss = (factors.loads @ factors.parts - table).square().sum()
        opt.zero_grad()
        loss.backward()
        factors.project()
        opt.step()  # effect: GS269


def good_set_to_the_bound_behind() -> None:
    import torch
    from torch import nn

    class Factors(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.loads, self.parts = nn.Parameter(torch.rand(20, 3)), nn.Parameter(torch.rand(3, 15))

        @torch.no_grad()
        def project(self) -> None:
            for factor in (self.loads, self.parts):
                factor[factor < 0] = 0.0

    torch.manual_seed(0)
    table, factors = torch.rand(20, 3) @ torch.rand(3, 15).mul(2).sub(1).relu(), Factors()
    opt = torch.optim.Adam(factors.parameters(), lr=0.05)
    for _ in range(20):
        loss = (factors.loads @ factors.parts - table).square().sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        factors.project()


def good_given_as_data_behind() -> None:
    import torch
    from torch import nn

    class Factors(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.loads, self.parts = nn.Parameter(torch.rand(20, 3)), nn.Parameter(torch.rand(3, 15))

        @torch.no_grad()
        def project(self) -> None:
            for factor in (self.loads, self.parts):
                factor.data = factor.data.clamp(min=0)

    torch.manual_seed(0)
    table, factors = torch.rand(20, 3) @ torch.rand(3, 15).mul(2).sub(1).relu(), Factors()
    opt = torch.optim.Adam(factors.parameters(), lr=0.05)
    for _ in range(20):
        loss = (factors.loads @ factors.parts - table).square().sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        factors.project()


def good_some_are_left_out() -> None:
    import torch
    from torch import nn

    class Factors(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.loads, self.parts = nn.Parameter(torch.rand(20, 3)), nn.Parameter(torch.rand(3, 15))

        @torch.no_grad()
        def project(self) -> None:
            for factor in (self.loads, self.parts):
                factor[torch.eye(*factor.shape).bool()] = 0.5

    torch.manual_seed(0)
    table, factors = torch.rand(20, 3) @ torch.rand(3, 15).mul(2).sub(1).relu(), Factors()
    opt = torch.optim.Adam(factors.parameters(), lr=0.05)
    for _ in range(20):
        loss = (factors.loads @ factors.parts - table).square().sum()
        opt.zero_grad()
        loss.backward()
        factors.project()
        opt.step()
