"""More programs of GS408: each bad one is reported at its marks, each good one by no rule."""


def good_parametrization() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(16, 32)), nn.ReLU())
    model.eval()
    with torch.no_grad():
        model(torch.randn(8, 16)).mean().item()


def good_loaded() -> None:
    import torch
    from torch import nn

    trained = nn.utils.spectral_norm(nn.Linear(16, 32))
    for _ in range(30):
        trained(torch.randn(8, 16))
    model = nn.utils.spectral_norm(nn.Linear(16, 32))
    model.load_state_dict(trained.state_dict())
    model.eval()
    with torch.no_grad():
        model(torch.randn(8, 16)).mean().item()


def bad_vectors_averaged() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    trained, averaged = (nn.Sequential(nn.utils.spectral_norm(nn.Linear(6, 6)), nn.Tanh()) for _ in range(2))
    kept = {name: value.detach().clone() for name, value in trained.state_dict().items()}
    opt = torch.optim.Adam(trained.parameters(), lr=0.1)
    for _ in range(20):
        x = torch.randn(8, 6)
        opt.zero_grad()
        (trained(x) - x.flip(1)).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for name, value in trained.state_dict().items():
                kept[name].mul_(0.8).add_(value, alpha=0.2)  # cause: GS408
    averaged.load_state_dict(kept)
    averaged.eval()
    with torch.no_grad():
        averaged(torch.randn(8, 6)).mean().item()  # effect: GS408
