"""More programs of GS257: each bad one is reported at its marks, each good one by no rule."""


def bad_sum_is_not_divided() -> None:  # fix: by hand
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    for _ in range(3):
        states = []
        for _ in range(3):
            local = copy.deepcopy(model)
            opt = torch.optim.SGD(local.parameters(), lr=0.1)
            for _ in range(2):
                opt.zero_grad()
                local(torch.randn(8, 6)).sub(1).pow(2).mean().backward()
                opt.step()
            states.append(local.state_dict())
        summed = {k: sum(state[k] for state in states) / 2 for k in states[0]}
        model.load_state_dict(summed)  # cause: GS257


def bad_one_local_model_in_turns() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, local = nn.Linear(6, 3), nn.Linear(6, 3)
    total = {k: v.clone() for k, v in model.state_dict().items()}
    for _ in range(3):
        for _ in range(2):
            local.load_state_dict(model.state_dict())
            opt = torch.optim.SGD(local.parameters(), lr=0.1)
            for _ in range(2):
                opt.zero_grad()
                local(torch.randn(8, 6)).sub(1).pow(2).mean().backward()
                opt.step()
            for k, v in local.state_dict().items():
                total[k] += v / 2  # cause: GS257
        model.load_state_dict(total)  # effect: GS257


def good_mean_of_local_models() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    for _ in range(3):
        states = []
        for _ in range(3):
            local = copy.deepcopy(model)
            opt = torch.optim.SGD(local.parameters(), lr=0.1)
            for _ in range(2):
                opt.zero_grad()
                local(torch.randn(8, 6)).sub(1).pow(2).mean().backward()
                opt.step()
            states.append(local.state_dict())
        model.load_state_dict({k: sum(state[k] for state in states) / 3 for k in states[0]})


def good_differences_are_added_to_the_last_model() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    for _ in range(3):
        before = {k: v.clone() for k, v in model.state_dict().items()}
        total = {k: v.clone() for k, v in before.items()}
        for _ in range(3):
            local = copy.deepcopy(model)
            opt = torch.optim.SGD(local.parameters(), lr=0.1)
            for _ in range(2):
                opt.zero_grad()
                local(torch.randn(8, 6)).sub(1).pow(2).mean().backward()
                opt.step()
            for k, v in local.state_dict().items():
                total[k] += 0.5 * (v - before[k])
        model.load_state_dict(total)
