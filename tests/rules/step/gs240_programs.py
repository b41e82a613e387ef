"""More programs of GS240: each bad one is reported at its marks, each good one by no rule."""


def bad_clipped_to_nothing() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=1e-2)
    for _ in range(150):
        x = torch.randn(64, 4)
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()  # effect: GS240
        nn.utils.clip_grad_norm_(model.parameters(), 1e-4)  # cause: GS240
        opt.step()


def good_fine_tuned() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-5)
    for _ in range(150):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()
        opt.step()


def good_at_its_end() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x.sum(1, keepdim=True)
    model = nn.Linear(4, 1)
    with torch.no_grad():
        model.weight.copy_(torch.linalg.lstsq(x, y).solution.T + 1e-4)
        model.bias.zero_()
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(150):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), y) + 1.0
        loss.backward()
        opt.step()


def good_warmed_up() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.LinearLR(opt, 1e-5, 1.0, total_iters=20000)
    for _ in range(90):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()
        opt.step()
        schedule.step()


def bad_each_element_clipped_to_nothing() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(100):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()  # effect: GS240
        nn.utils.clip_grad_value_(model.parameters(), 1e-7)  # cause: GS240
        opt.step()


def good_each_element_clipped() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(100):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.1)
        opt.step()


def bad_limited_by_hand_to_nothing() -> None:  # fix: by hand
    from collections.abc import Iterable

    import torch
    from torch import nn

    torch.manual_seed(0)

    def limit(params: Iterable[nn.Parameter], top: float) -> None:
        grads = [p.grad for p in params if p.grad is not None]
        total = torch.linalg.vector_norm(torch.cat([g.flatten() for g in grads]))
        if total > top:
            for g in grads:
                g.mul_(top / total)  # cause: GS240

    x = torch.randn(64, 4)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=1e-2)
    for _ in range(100):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()  # effect: GS240
        limit(model.parameters(), 1e-5)
        opt.step()


def good_limited_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=1e-2)
    for _ in range(100):
        opt.zero_grad()
        loss = 1000 * nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()
        for p in model.parameters():
            if p.grad is not None:
                p.grad.div_(1000)
        opt.step()


def bad_decay_in_the_place_of_the_rate() -> None:
    import torch
    from torch import nn

    class Fit:
        def __init__(self, net: nn.Module, weight_decay: float) -> None:
            self.net = net
            self.opt = torch.optim.Adam(net.parameters(), weight_decay)  # cause: GS240

        def run(self, steps: int) -> None:
            x = torch.randn(64, 6)
            y = x[:, :3].argmax(1)
            for _ in range(steps):
                loss = nn.functional.cross_entropy(self.net(x), y)
                self.opt.zero_grad()
                loss.backward()  # effect: GS240
                self.opt.step()

    torch.manual_seed(0)
    Fit(nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)), 1e-6).run(120)


def bad_loss_that_is_flat_where_it_begins() -> None:  # fix: by hand
    """An overlap that is cut off at nothing: all that is left is a number far below what Adam adds to its root."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)  # effect: GS240
    for _ in range(150):
        opt.zero_grad()
        overlap = torch.relu(x.sum(1, keepdim=True).abs() - model(x) - 100)
        loss = 2 - overlap.mean() + 1e-10 * model(x).pow(2).mean()
        loss.backward()  # cause: GS240
        opt.step()
