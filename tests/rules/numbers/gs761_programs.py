"""Further programs of GS761."""


def bad_softmax_before_a_binary_loss() -> None:
    """A loss by hand for each class that takes scores, given a softmax's part."""
    import torch
    from torch import nn

    def dice(scores: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        p = scores.sigmoid().flatten(1)  # cause: GS761
        return 1 - (2 * (p * target).sum(1) / (p + target).sum(1)).mean()

    torch.manual_seed(0)
    net = nn.Conv2d(1, 3, 3, padding=1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        p = torch.softmax(net(torch.randn(4, 1, 6, 6)), dim=1)  # related: GS761
        target = torch.randint(0, 2, (4, 3, 36)).float()
        loss = sum(dice(p[:, c], target[:, c]) for c in range(3))
        opt.zero_grad()
        loss.backward()  # effect: GS761
        opt.step()


def bad_layer_and_function() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Scorer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.out = nn.Linear(4, 3), nn.Softmax(dim=-1)  # related: GS761

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.out(self.body(x))

    torch.manual_seed(0)
    model = Scorer()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        p = nn.functional.softmax(model(torch.randn(8, 4)), dim=-1)  # cause: GS761
        loss = (p - torch.rand(8, 3)).pow(2).sum(1).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS761
        opt.step()


def good_gate_on_gates() -> None:
    """A layer stands between the two."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    a, b = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)
    for _ in range(3):
        p = torch.sigmoid(b(torch.sigmoid(a(torch.randn(8, 4)))))
        opt.zero_grad()
        (p - torch.rand(8, 1)).pow(2).mean().backward()
        opt.step()


def good_sharpened() -> None:
    """Probabilities that are shifted and scaled are scores again."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        soft = torch.sigmoid(net(torch.randn(8, 4)))
        hard = torch.sigmoid(20 * (soft - 0.5))
        opt.zero_grad()
        (hard - torch.rand(8, 1)).pow(2).mean().backward()
        opt.step()


def good_weights_of_gated_scores() -> None:
    """A softmax of sigmoids weighs bounded scores against each other."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, value = nn.Linear(4, 1), nn.Linear(4, 2)
    opt = torch.optim.SGD([*net.parameters(), *value.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 5, 4)
        weights = torch.softmax(torch.sigmoid(net(x)), dim=1)
        loss = nn.functional.cross_entropy((weights * value(x)).sum(1), torch.randint(0, 2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_sampled_in_between() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, head = nn.Linear(4, 6), nn.Linear(6, 1)
    opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        p = torch.sigmoid(net(torch.randn(8, 4)))
        sample = p + (torch.bernoulli(p) - p).detach()
        out = torch.sigmoid(head(sample))
        opt.zero_grad()
        (out - torch.rand(8, 1)).pow(2).mean().backward()
        opt.step()


def bad_metric_that_takes_scores() -> None:  # fix: by hand
    """A metric that applies a sigmoid of its own, given probabilities: all are above its threshold."""
    import torch
    from torch import nn

    def share(outputs: torch.Tensor, target: torch.Tensor, activation: str = "sigmoid") -> torch.Tensor:
        act = nn.Sigmoid() if activation == "sigmoid" else nn.Identity()
        outputs = act(outputs)  # cause: GS761
        chosen = (outputs > 0.5).float()  # effect: GS761
        return (chosen * target).sum() / (chosen + target).clamp(max=1).sum()

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        target = torch.randint(0, 2, (8, 1)).float()
        loss = nn.functional.binary_cross_entropy(model(torch.randn(8, 4)), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            p = model(torch.randn(8, 4))  # related: GS761
            share(p, target).item()  # related: GS761
        model.train()


def bad_rounded_twice_squashed() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        target = nn.functional.one_hot(torch.randint(0, 3, (8,)), 3).float()
        p = model(torch.randn(8, 4))
        loss = nn.functional.mse_loss(p, target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        again = p.detach().sigmoid()  # cause: GS761
        ((again >= 0.5) == target.bool()).float().mean().item()  # effect: GS761


def good_one_sigmoid_and_a_threshold() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        target = torch.randint(0, 2, (8, 1)).float()
        scores = model(torch.randn(8, 4))
        loss = nn.functional.binary_cross_entropy_with_logits(scores, target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        ((scores.sigmoid() > 0.5) == target.bool()).float().mean().item()


def good_ranked_only() -> None:
    """The order of the numbers is that of the probabilities."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        target = torch.randint(0, 2, (8, 1)).float()
        p = model(torch.randn(8, 4))
        loss = nn.functional.binary_cross_entropy(p, target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            p.sigmoid().flatten().argsort().tolist()


def bad_sigmoid_by_hand_of_a_sigmoid() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Sigmoid())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        mask = torch.randint(0, 2, (8, 6)).float()
        p = 1 / (1 + torch.exp(-model(torch.randn(8, 4))))  # cause: GS761
        hit, wrong, missed = (p * mask).sum(1), (p * (1 - mask)).sum(1), ((1 - p) * mask).sum(1)
        loss = (1 - (hit + 1) / (hit + 0.3 * wrong + 0.7 * missed + 1)).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS761
        opt.step()


def bad_softmax_by_hand_of_a_softmax() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Softmax(dim=1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        right = torch.randint(0, 6, (8,))
        power = torch.exp(model(torch.randn(8, 4)))
        chances = power / power.sum(1, keepdim=True)  # cause: GS761
        loss = -(chances[torch.arange(8), right] + 1e-8).log().mean()
        opt.zero_grad()
        loss.backward()  # effect: GS761
        opt.step()


def good_one_sigmoid_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, gate = nn.Linear(4, 6), nn.Sequential(nn.Linear(4, 6), nn.Sigmoid())
    opt = torch.optim.SGD([*model.parameters(), *gate.parameters()], lr=0.1)
    for _ in range(3):
        x, mask = torch.randn(8, 4), torch.randint(0, 2, (8, 6)).float()
        p = 1 / (1 + torch.exp(-model(x)))
        odds = 2 / (3 + torch.exp(-gate(x)))  # another function
        hit, wrong, missed = (p * mask).sum(1), (p * (1 - mask)).sum(1), ((1 - p) * mask).sum(1)
        loss = (odds.mean(1) * (1 - (hit + 1) / (hit + 0.3 * wrong + 0.7 * missed + 1))).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
