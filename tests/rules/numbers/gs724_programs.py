"""More programs of GS724: each bad one is reported at its marks, each good one by no rule."""


def bad_layer_of_a_sequence() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(4, 8),
        nn.ReLU(),
        nn.Linear(8, 1),
        nn.ReLU(),
    )
    criterion = nn.BCEWithLogitsLoss()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 2, (16,)).float()
        logits = model(x).squeeze(1)  # cause: GS724
        loss = criterion(logits, y)  # effect: GS724
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_sigmoid_in_the_model_and_behind_it() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sigmoid(self.fc(x))  # cause: GS724

    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 2, (16, 1)).float()
        probability = torch.sigmoid(net(x))
        loss = nn.functional.binary_cross_entropy(probability, y)  # effect: GS724
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_in_a_loop_over_layers() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = nn.ModuleList([nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 1)])
    opt = torch.optim.Adam(layers.parameters(), lr=0.01)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 2, (16, 1)).float()
        for layer in layers:
            x = nn.functional.softplus(layer(x))  # cause: GS724
        loss = nn.functional.binary_cross_entropy_with_logits(x, y)  # effect: GS724
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_gate() -> None:
    """A sigmoid of a ReLU that weighs something: no probability is asked for."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    squeeze, last = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*squeeze.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 2, (16, 1)).float()
        gate = torch.sigmoid(torch.relu(squeeze(x)))
        opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(last(gate * x), y).backward()
        opt.step()


def good_distance_from_a_border() -> None:
    """A softplus that is shifted: numbers of both signs."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, border = nn.Linear(4, 1), nn.Parameter(torch.ones(1))
    opt = torch.optim.SGD([*model.parameters(), border], lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 2, (16, 1)).float()
        distance = nn.functional.softplus(model(x))
        opt.zero_grad()
        nn.functional.binary_cross_entropy(torch.sigmoid(border - distance), y).backward()
        opt.step()


def good_only_positive_targets() -> None:
    """What is asked for can be given: all targets are above one half."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 4)
        y = 0.6 + 0.4 * torch.rand(16, 1)
        opt.zero_grad()
        nn.functional.binary_cross_entropy(torch.sigmoid(torch.relu(model(x) + 1)), y).backward()
        opt.step()


def bad_likelihood_written_out() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.score = nn.Linear(10, 12), nn.Linear(12, 1)

        def forward(self, payment: torch.Tensor) -> torch.Tensor:
            return self.score(F.elu(self.inner(payment))).squeeze(-1).clamp(min=0)  # cause: GS724

    torch.manual_seed(0)
    detector = Detector()
    opt = torch.optim.AdamW(detector.parameters(), lr=0.005)
    for _ in range(3):
        x, fraud = torch.randn(16, 10), torch.randint(0, 2, (16,)).float()
        score = detector(x)
        chances = fraud * F.logsigmoid(score) + (1 - fraud) * F.logsigmoid(-score)  # effect: GS724
        opt.zero_grad()
        (-chances.mean()).backward()
        opt.step()


def bad_logarithms_of_a_sigmoid() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(10, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 10), torch.randint(0, 2, (16, 1)).float()
        p = torch.sigmoid(torch.relu(net(x)))  # cause: GS724
        loss = -(y * (p + 1e-7).log() + (1 - y) * torch.log(1 - p + 1e-7)).mean()  # effect: GS724
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_evidence_less_a_threshold() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    net, threshold = nn.Linear(10, 1), nn.Parameter(torch.tensor(1.0))
    opt = torch.optim.SGD([*net.parameters(), threshold], lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 10), torch.randint(0, 2, (16, 1)).float()
        score = F.softplus(net(x)) - threshold
        opt.zero_grad()
        (-(y * F.logsigmoid(score) + (1 - y) * F.logsigmoid(-score)).mean()).backward()
        opt.step()


def good_similar_ones_pulled_and_others_pushed() -> None:
    """Two scores of one margin: no class 0 is asked of what is never below 0."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    near, far = nn.Linear(4, 1), nn.Linear(4, 1)
    opt = torch.optim.SGD([*near.parameters(), *far.parameters()], lr=0.1)
    for _ in range(3):
        x, weight = torch.randn(16, 4), torch.rand(16, 1)
        pulled, pushed = near(x).clamp(min=0), far(x)
        opt.zero_grad()
        (-(weight * F.logsigmoid(pulled) + weight * F.logsigmoid(-pushed)).mean()).backward()
        opt.step()
