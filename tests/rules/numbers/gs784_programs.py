"""More programs of GS784: each bad one is reported at its marks, each good one by no rule."""


def good_discriminator() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
    criterion = nn.BCEWithLogitsLoss()
    for _ in range(120):
        opt.zero_grad()
        real = criterion(critic(torch.randn(32, 2) + 1), torch.ones(32, 1))
        fake = criterion(critic(torch.randn(32, 2)), torch.zeros(32, 1))
        (real + fake).backward()
        opt.step()


def good_short() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(30):
        loss = nn.functional.cross_entropy(model(torch.randn(16, 4)), torch.randint(2, (16,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_slow_but_sure() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.003)
    for _ in range(300):
        x = torch.randn(64, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_later_with_a_term_beside_it() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs = torch.randn(512, 8)
    labels = inputs[:, :3].argmax(dim=1)

    def train(model: nn.Module, weight: float) -> None:
        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(120):
            loss = nn.functional.cross_entropy(model(inputs), labels)
            if weight:
                loss = loss + weight * sum(p.square().sum() for p in model.parameters())
            opt.zero_grad()
            loss.backward()
            opt.step()

    for weight in (0.0, 0.5):
        train(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3)), weight)


def bad_positive_of_another_sample() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
    opt = torch.optim.Adam(body.parameters(), lr=1e-3)
    partner = torch.arange(32) ^ 1  # of views that stand side by side
    others = ~(nn.functional.one_hot(partner, 32) + torch.eye(32)).bool()
    for _ in range(150):
        x = torch.randn(16, 8)
        views = torch.cat([x + 0.1 * torch.randn(16, 8), x + 0.1 * torch.randn(16, 8)])
        z = nn.functional.normalize(body(views), dim=1)
        near = z @ z.T
        right, wrong = near.gather(1, partner[:, None]), near[others].view(32, 30)
        logits = torch.cat([right, wrong], 1) / 0.2
        loss = nn.functional.cross_entropy(logits, torch.zeros(32, dtype=torch.long))  # cause: GS784
        opt.zero_grad()
        loss.backward()  # effect: GS784
        opt.step()


def good_positive_of_the_sample() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
    opt = torch.optim.Adam(body.parameters(), lr=1e-3)
    partner = (torch.arange(32) + 16) % 32
    others = ~(nn.functional.one_hot(partner, 32) + torch.eye(32)).bool()
    for _ in range(150):
        x = torch.randn(16, 8)
        views = torch.cat([x + 0.1 * torch.randn(16, 8), x + 0.1 * torch.randn(16, 8)])
        z = nn.functional.normalize(body(views), dim=1)
        near = z @ z.T
        right, wrong = near.gather(1, partner[:, None]), near[others].view(32, 30)
        logits = torch.cat([right, wrong], 1) / 0.2
        loss = nn.functional.cross_entropy(logits, torch.zeros(32, dtype=torch.long))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_two_networks_by_one_line() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs = torch.randn(256, 4)

    def fit(targets: torch.Tensor) -> None:
        model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(300):
            rows = torch.randint(256, (64,))
            loss = nn.functional.mse_loss(model(inputs[rows]), targets[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()

    for column in range(2):
        fit(inputs[:, column : column + 1] + 10 + column)


def bad_two_networks_by_one_line_both_stand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def fit() -> None:
        model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
        opt = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(160):
            x = torch.randn(64, 6)
            y = torch.randint(3, (64,))
            loss = nn.functional.cross_entropy(model(x), y)  # cause: GS784
            opt.zero_grad()
            loss.backward()  # effect: GS784
            opt.step()

    for _ in range(2):
        fit()


def good_a_discriminator_that_is_fooled() -> None:
    """Of two networks that play against each other the one aims at this answer of the other."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    mapping, judge = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    map_opt = torch.optim.SGD(mapping.parameters(), lr=0.05)
    judge_opt = torch.optim.SGD(judge.parameters(), lr=0.05)
    real = torch.cat([torch.ones(16, 1), torch.zeros(16, 1)])
    for _ in range(150):
        x = torch.cat([torch.randn(16, 4), mapping(torch.randn(16, 4))])
        judge_opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(judge(x.detach()), real).backward()
        judge_opt.step()
        map_opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(judge(x), 1 - real).backward()
        map_opt.step()


def bad_squares_by_hand_of_rows_out_of_order() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    soil = torch.randn(400, 8)
    harvest = (soil[:, :1] + soil[:, 3:4]).sign()
    soil = soil[torch.randperm(400)]
    net = nn.Sequential(nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.02)
    for _ in range(12):
        for rows in torch.randperm(400).split(40):
            loss = ((net(soil[rows]) - harvest[rows]) ** 2).mean()  # cause: GS784
            opt.zero_grad()
            loss.backward()  # effect: GS784
            opt.step()


def good_squares_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    soil = torch.randn(400, 8)
    harvest = (soil[:, :1] + soil[:, 3:4]).sign()
    order = torch.randperm(400)
    soil, harvest = soil[order], harvest[order]
    net = nn.Sequential(nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(12):
        for rows in torch.randperm(400).split(40):
            loss = (net(soil[rows]) - harvest[rows]).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
