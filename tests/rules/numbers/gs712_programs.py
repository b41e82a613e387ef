"""More programs of GS712: each bad one is reported at its marks, each good one by no rule."""


def good_clean_data_as_the_target() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    kept = torch.linspace(0.9, 0.1, 10)
    for _ in range(3):
        clean = torch.rand(8, 4).cumsum(1)
        share = kept[torch.randint(0, 10, (8,))].unsqueeze(1)
        noised = share * clean + (1 - share) * torch.randn_like(clean)
        opt.zero_grad()
        nn.functional.mse_loss(model(noised), clean).backward()
        opt.step()


def good_autoencoder_of_noisy_measurements() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 4))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.rand(8, 4) + 0.1 * torch.randn(8, 4)
        opt.zero_grad()
        nn.functional.mse_loss(model(x), x).backward()
        opt.step()
