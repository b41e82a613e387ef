"""More programs of GS223: each bad one is reported at its marks, each good one by no rule."""


def bad_pushed_away() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    shadow = [p.detach().clone() for p in model.parameters()]
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(50):
        opt.zero_grad()
        nn.functional.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1)).backward()
        opt.step()
        for average, p in zip(shadow, model.parameters(), strict=True):
            average += 0.01 * (average - p.detach())  # cause: GS223


def bad_written_through_data() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    teacher = copy.deepcopy(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)

    def mixed(kept: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        return kept * (1 - 0.995) + new * 0.995

    for _ in range(80):
        state = torch.randn(8, 4)
        with torch.no_grad():
            wanted = teacher(state) + 1
        opt.zero_grad()
        nn.functional.mse_loss(net(state), wanted).backward()
        opt.step()
        with torch.no_grad():
            for old, new in zip(teacher.parameters(), net.parameters(), strict=True):
                old.data.copy_(mixed(old.data, new.data))  # cause: GS223


def bad_target_network_at_once() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    target = copy.deepcopy(net).requires_grad_(False)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    tau = 0.995
    for _ in range(80):
        state = torch.randn(8, 4)
        with torch.no_grad():
            wanted = 0.9 * target(state) + 1
        opt.zero_grad()
        nn.functional.mse_loss(net(state), wanted).backward()
        opt.step()
        for old, new in zip(target.parameters(), net.parameters(), strict=True):
            old.lerp_(new.detach(), tau)  # cause: GS223


def good_decay_that_grows() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    shadow = [p.detach().clone() for p in model.parameters()]
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(100):
        opt.zero_grad()
        nn.functional.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1)).backward()
        opt.step()
        decay = min(0.999, (1 + step) / (10 + step))
        with torch.no_grad():
            for average, p in zip(shadow, model.parameters(), strict=True):
                average.lerp_(p, 1 - decay)


def good_target_network_that_is_copied() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    target = copy.deepcopy(net).requires_grad_(False)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(80):
        state = torch.randn(8, 4)
        with torch.no_grad():
            wanted = 0.9 * target(state) + 1
        opt.zero_grad()
        nn.functional.mse_loss(net(state), wanted).backward()
        opt.step()
        for old, new in zip(target.parameters(), net.parameters(), strict=True):
            old.copy_(new.detach())


def good_optimizer_of_ones_own() -> None:
    """A running mean of gradients lies in no direction from the weights."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    speed = [torch.zeros_like(p) for p in model.parameters()]
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(60):
        opt.zero_grad()
        nn.functional.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1)).backward()
        with torch.no_grad():
            for v, p in zip(speed, model.parameters(), strict=True):
                v.mul_(0.1).add_(p.grad)
                p.grad.copy_(v)
        opt.step()


def bad_a_new_tensor_each_time() -> None:
    import torch
    from torch import nn

    class Ema:
        def __init__(self, source, decay):
            self.decay = decay
            self.values = {k: v.clone() for k, v in source.state_dict().items()}

        @torch.no_grad()
        def absorb(self, source):
            for k, v in source.state_dict().items():
                self.values[k] = (1 - self.decay) * self.values[k] + self.decay * v  # cause: GS223

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    ema = Ema(net, 0.99)
    opt = torch.optim.AdamW(net.parameters(), lr=5e-3)
    for _ in range(60):
        opt.zero_grad()
        nn.functional.cross_entropy(net(torch.randn(16, 4)), torch.randint(0, 2, (16,))).backward()
        opt.step()
        ema.absorb(net)
    net.load_state_dict(ema.values)


def good_a_new_tensor_each_time() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    values = {k: v.clone() for k, v in net.state_dict().items()}
    opt = torch.optim.AdamW(net.parameters(), lr=5e-3)
    for _ in range(60):
        opt.zero_grad()
        nn.functional.cross_entropy(net(torch.randn(16, 4)), torch.randint(0, 2, (16,))).backward()
        opt.step()
        with torch.no_grad():
            for k, v in net.state_dict().items():
                values[k] = torch.lerp(values[k], v, 0.05)
    net.load_state_dict(values)


def good_running_sum_beside_a_bias_of_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    total = torch.zeros(1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(12):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        total.add_(loss.detach())
        loss.backward()
        opt.step()
    print(total.item() / 12)
