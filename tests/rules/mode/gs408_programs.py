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
