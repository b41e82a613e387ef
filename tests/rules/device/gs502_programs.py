"""More programs of GS502: each bad one is reported at its marks, each good one by no rule."""


def good_number_for_a_log() -> None:
    import torch
    from torch import nn

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Linear(4, 4).to(device)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    weight = 1.0
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 4).to(device)).pow(2).mean() * torch.tensor(weight).to(device)
        loss.backward()
        weight = float(loss.detach().cpu().clamp(0.5, 1))
        opt.step()
