"""More programs of GS113: each bad one is reported at its marks, each good one by no rule."""


def bad_blocks_unpacked_into_a_sequence() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    blocks = [nn.Linear(8, 8), nn.ReLU()] * 3  # cause: GS113
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), *blocks, nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 4)
        loss = (model(x).squeeze(1) - x.sum(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS113
        opt.step()


def bad_shallow_copies() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    layer = nn.Linear(8, 8)
    hidden = nn.ModuleList([copy.copy(layer) for _ in range(3)])  # cause: GS113
    first, last = nn.Linear(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*first.parameters(), *hidden.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 4)
        h = first(x)
        for part in hidden:
            h = torch.relu(part(h))
        loss = (last(h).squeeze(1) - x.sum(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS113
        opt.step()


def good_activations_repeated() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    acts = [nn.ReLU()] * 2
    model = nn.Sequential(nn.Linear(4, 8), acts[0], nn.Linear(8, 8), acts[1], nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 4)
        loss = (model(x).squeeze(1) - x.sum(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_layer_run_three_times() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, shared, last = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*first.parameters(), *shared.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 4)
        h = first(x)
        for _ in range(3):
            h = torch.relu(shared(h))
        loss = (last(h).squeeze(1) - x.sum(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
