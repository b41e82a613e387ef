"""More programs of GS218: each bad one is reported at its marks, each good one by no rule."""


def bad_old_gradient_is_applied_again() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(6):
        if step == 3:
            model[0].requires_grad_(False)  # cause: GS218
        for p in model.parameters():
            if p.requires_grad:
                p.grad = None
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS218


def bad_single_tensor() -> None:
    import torch

    scale, shift = (torch.ones(3, requires_grad=True) for _ in range(2))
    opt = torch.optim.AdamW([scale, shift], lr=0.01)
    for step in range(8):
        if step == 4:
            shift.requires_grad_(False)  # cause: GS218
        opt.zero_grad(set_to_none=False)
        (torch.randn(8, 3) * scale + shift).pow(2).mean().backward()
        opt.step()  # effect: GS218


def bad_frozen_behind_the_first_pass() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(8):
        loss = model(torch.randn(8, 3)).pow(2).mean()
        opt.zero_grad(set_to_none=False)
        loss.backward()
        opt.step()  # effect: GS218
        model[0].requires_grad_(False)  # cause: GS218


def good_zeros_move_nothing() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(6):
        if step == 3:
            model[0].requires_grad_(False)
        opt.zero_grad(set_to_none=False)
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_gradients_of_an_evolution() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = torch.randn(16, 3)
    model(x).pow(2).mean().backward()
    opt.step()
    model.requires_grad_(False)
    for _ in range(6):
        for p in model.parameters():
            noise = torch.randn_like(p)
            p.add_(noise, alpha=0.01)
            gain = model(x).pow(2).mean()
            p.sub_(noise, alpha=0.01)
            p.grad.copy_(noise * gain)
        opt.step()


def good_frozen_before_its_last_step() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(6):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        if step == 3:
            model[0].requires_grad_(False)
        opt.step()


def good_parts_of_two_optimizers_take_turns() -> None:
    import torch
    from torch import nn

    body, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt_body = torch.optim.Adam(body.parameters(), lr=0.01)
    opt_head = torch.optim.Adam(head.parameters(), lr=0.01)
    for step in range(8):
        ours, other, opt = (body, head, opt_body) if step % 2 else (head, body, opt_head)
        ours.requires_grad_(True)
        other.requires_grad_(False)
        opt.zero_grad(set_to_none=False)
        head(body(torch.randn(8, 3))).pow(2).mean().backward()
        opt.step()


def bad_own_decay_of_what_is_frozen() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Decoupled:
        def __init__(self, inner: torch.optim.Optimizer, decay: float) -> None:
            self.inner, self.decay = inner, decay

        def step(self) -> None:
            for group in self.inner.param_groups:
                for weight in group["params"]:
                    weight.data.mul_(1 - self.decay * group["lr"])  # cause: GS218
            self.inner.step()

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
    model[0].load_state_dict(nn.Linear(3, 6).state_dict())
    for p in model[0].parameters():
        p.requires_grad_(False)  # effect: GS218
    opt = Decoupled(torch.optim.Adam(model.parameters(), lr=0.01), decay=0.1)
    for _ in range(8):
        x = torch.randn(16, 3)
        loss = (model(x) - x[:, :1]).pow(2).mean()
        opt.inner.zero_grad()
        loss.backward()
        opt.step()


def good_own_decay_of_what_is_trained() -> None:
    import torch
    from torch import nn

    class Decoupled:
        def __init__(self, inner: torch.optim.Optimizer, decay: float) -> None:
            self.inner, self.decay = inner, decay

        def step(self) -> None:
            for group in self.inner.param_groups:
                for weight in group["params"]:
                    weight.data.mul_(1 - self.decay * group["lr"])
            self.inner.step()

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
    model[0].load_state_dict(nn.Linear(3, 6).state_dict())
    for p in model[0].parameters():
        p.requires_grad_(False)
    opt = Decoupled(torch.optim.Adam(model[2].parameters(), lr=0.01), decay=0.1)
    for _ in range(8):
        x = torch.randn(16, 3)
        loss = (model(x) - x[:, :1]).pow(2).mean()
        opt.inner.zero_grad()
        loss.backward()
        opt.step()
