"""More programs of GS311: each bad one is reported at its marks, each good one by no rule."""


def bad_whole_model() -> None:
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    out = checkpoint(model, torch.randn(8, 4), use_reentrant=True)  # cause: GS311
    out.pow(2).mean().backward()  # effect: GS311


def bad_layers_in_a_loop() -> None:
    """All of them are told as one: what else is lost at this line is no unused parameter."""
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    layers, head = nn.ModuleList(nn.Linear(4, 4) for _ in range(3)), nn.Linear(4, 1)
    opt = torch.optim.SGD([*layers.parameters(), *head.parameters()], lr=0.1)
    for _ in range(2):
        h = torch.randn(8, 4)
        for layer in layers:
            h = checkpoint(layer, h, use_reentrant=True)  # cause: GS311
        opt.zero_grad()
        head(h).pow(2).mean().backward()
        opt.step()


def good_input_requires_gradient() -> None:
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    first, block, head = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Linear(4, 1)
    opt = torch.optim.SGD([*first.parameters(), *block.parameters(), *head.parameters()], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        h = checkpoint(block, first(torch.randn(8, 4)), use_reentrant=True)
        head(h).pow(2).mean().backward()
        opt.step()


def good_frozen_block() -> None:
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    block, head = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Linear(4, 1)
    block.requires_grad_(False)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        h = checkpoint(block, torch.randn(8, 4), use_reentrant=True)
        head(h).pow(2).mean().backward()
        opt.step()


def bad_sequence_of_checkpoints() -> None:
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint_sequential

    body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU())
    opt = torch.optim.SGD(body.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        h = checkpoint_sequential(body, 2, torch.randn(8, 4), use_reentrant=True)  # cause: GS311
        h.pow(2).mean().backward()
        opt.step()
