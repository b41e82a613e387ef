"""More programs of GS417: each bad one is reported at its marks, each good one by no rule."""


def bad_by_a_name_for_the_length() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    torch.manual_seed(0)
    loader = DataLoader(torch.randn(32, 4), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        batches = len(loader)
        running = 0.0
        for x in loader:
            loss = nn.functional.mse_loss(model(x), x[:, :1])
            opt.zero_grad()
            loss.backward()
            opt.step()
            running = running + loss.item()  # effect: GS417
            running = running / batches  # cause: GS417
        print(running)
