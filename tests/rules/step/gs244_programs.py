"""Further programs of GS244: see gradscope/rules/step/."""


def good_one_network_for_each_seed_is_saved() -> None:
    import io

    import torch
    from torch import nn

    for seed in range(4):
        torch.manual_seed(seed)
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
        torch.save(model, io.BytesIO())


def good_towards_what_a_copy_has_learned() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    for _ in range(4):
        fast = copy.deepcopy(model)
        opt = torch.optim.SGD(fast.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            (fast(torch.randn(8, 3)) - 1).pow(2).mean().backward()
            opt.step()
        with torch.no_grad():
            for slow, learned in zip(model.parameters(), fast.parameters(), strict=True):
                slow.lerp_(learned, 0.5)


def good_coefficients_of_several_fits() -> None:
    import torch
    from torch import nn

    found = []
    for slope in (1.0, 2.0, 3.0):
        line = nn.Linear(1, 1)
        opt = torch.optim.SGD(line.parameters(), lr=0.1)
        for _ in range(5):
            x = torch.randn(8, 1)
            opt.zero_grad()
            (line(x) - slope * x).pow(2).mean().backward()
            opt.step()
        found.append(line.weight.item())


def good_average_of_what_clients_learn() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    for _ in range(2):
        states = []
        for _ in range(3):
            client = nn.Linear(3, 1)
            client.load_state_dict(model.state_dict())
            opt = torch.optim.SGD(client.parameters(), lr=0.1)
            for _ in range(3):
                opt.zero_grad()
                (client(torch.randn(8, 3)) - 1).pow(2).mean().backward()
                opt.step()
            states.append(client.state_dict())
        model.load_state_dict({name: sum(s[name] for s in states) / len(states) for name in states[0]})
