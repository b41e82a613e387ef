"""More programs of GS273: each bad one is reported at its marks, each good one by no rule."""


def bad_evaluated_average_of_a_classifier() -> None:  # fix: by hand
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)

    class Average:
        def __init__(self, model: nn.Module, decay: float) -> None:
            self.model, self.decay = copy.deepcopy(model).eval(), decay

        @torch.no_grad()
        def update(self, model: nn.Module) -> None:
            kept = dict(self.model.named_parameters())
            for name, weight in model.named_parameters():
                new = self.decay * weight + (1 - self.decay) * kept[name]
                weight.copy_(new)  # cause: GS273

    model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
    average = Average(model, 0.95)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(8):
        x, y = torch.randn(32, 3), torch.randint(2, (32,))
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
        average.update(model)
    with torch.no_grad():
        print(average.model(torch.randn(32, 3)).argmax(1).float().mean().item())


def good_anchor() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    anchor = copy.deepcopy(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(6):
        x = torch.randn(16, 4)
        loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():  # fine-tuning that does not go far
            for p, start in zip(net.parameters(), anchor.parameters(), strict=True):
                p.lerp_(start, 0.01)


def good_lookahead() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    slow = copy.deepcopy(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for step in range(9):
        x = torch.randn(16, 4)
        loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 3 == 2:
            with torch.no_grad():
                for p, s in zip(net.parameters(), slow.parameters(), strict=True):
                    s.lerp_(p, 0.5)
                    p.copy_(s)
    with torch.no_grad():
        print(slow(x).mean().item())


def good_drawn_back_to_what_was_learned_before() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    first = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 4)
        first.zero_grad()
        nn.functional.cross_entropy(net(x), x[:, :3].argmax(1)).backward()
        first.step()
    old = copy.deepcopy(net).requires_grad_(False)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(6):
        x = torch.randn(16, 4) + 1
        with torch.no_grad():
            before = old(x).log_softmax(1)
        out = net(x)
        apart = nn.functional.kl_div(out.log_softmax(1), before, log_target=True, reduction="batchmean")
        opt.zero_grad()
        (nn.functional.cross_entropy(out, x[:, 1:].argmax(1)) + 0.1 * apart).backward()
        opt.step()
        with torch.no_grad():
            for p, start in zip(net.parameters(), old.parameters(), strict=True):
                p.lerp_(start, 0.01)
