"""More programs of GS233: each bad one is reported at its marks, each good one by no rule."""


def bad_in_the_function_of_an_epoch() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    def train_epoch(model, batches):
        opt = torch.optim.AdamW(model.parameters(), lr=0.01)  # cause: GS233
        for x in batches:
            loss = model(x).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()  # effect: GS233

    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    for _ in range(8):
        train_epoch(net, [torch.randn(8, 3) for _ in range(4)])


def bad_in_every_step() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    for _ in range(12):
        opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)  # cause: GS233
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS233


def good_plain_sgd_keeps_nothing() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    for _ in range(6):
        opt = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()


def good_long_rounds() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    for _ in range(5):
        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(15):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()


def good_a_model_for_each_fold() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    for _ in range(6):
        model = nn.Linear(3, 1)
        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()


def good_clients_that_are_averaged() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    shared = copy.deepcopy(model.state_dict())
    for _ in range(3):
        states = []
        for _ in range(2):
            model.load_state_dict(shared)
            opt = torch.optim.Adam(model.parameters(), lr=0.01)
            for _ in range(3):
                opt.zero_grad()
                model(torch.randn(8, 3)).pow(2).mean().backward()
                opt.step()
            states.append(copy.deepcopy(model.state_dict()))
        shared = {name: (states[0][name] + states[1][name]) / 2 for name in shared}


def good_other_rates_in_stages() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    for lr in (0.1, 0.03, 0.01, 0.003, 0.001):
        opt = torch.optim.Adam(model.parameters(), lr=lr)
        for _ in range(4):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()


def good_two_players_by_turns() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, second = nn.Linear(3, 1), nn.Linear(3, 1)
    for _ in range(5):
        for model in (first, second):
            opt = torch.optim.Adam(model.parameters(), lr=0.01)
            for _ in range(10):
                opt.zero_grad()
                model(torch.randn(8, 3)).pow(2).mean().backward()
                opt.step()


def good_tried_out_from_the_same_weights() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    start = copy.deepcopy(model.state_dict())
    for _ in range(5):
        model.load_state_dict(start)
        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()


def bad_with_a_rate_that_falls() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    def improve(net, patients, months, rate):
        groups = [
            {"params": [w for w in net.parameters() if w.ndim > 1], "weight_decay": 1e-3},
            {"params": [w for w in net.parameters() if w.ndim == 1], "weight_decay": 0.0},
        ]
        opt = torch.optim.SGD(groups, lr=rate, momentum=0.95)  # cause: GS233
        for rows in torch.randperm(len(patients)).split(10):
            opt.zero_grad()
            nn.functional.poisson_nll_loss(net(patients[rows]).squeeze(1), months[rows]).backward()
            opt.step()  # effect: GS233

    patients = torch.randn(40, 5)
    months = torch.poisson(torch.exp(0.5 * patients[:, 0]))
    net = nn.Sequential(nn.Linear(5, 6), nn.ELU(), nn.Linear(6, 1))
    for epoch in range(12):
        improve(net, patients, months, 0.02 * 0.95**epoch * (0.1 if epoch > 8 else 1.0))


def good_search_for_a_rate() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    for turn in range(20):
        opt = torch.optim.Adam(model.parameters(), lr=1e-5 * 1.3**turn)
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()
        opt.step()
        print(loss.item())
