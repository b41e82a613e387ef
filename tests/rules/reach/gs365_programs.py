"""More programs of GS365: each bad one is reported at its marks, each good one by no rule."""


def bad_in_the_call_itself() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.RNNCell(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x, state = torch.randn(16, 6, 4), torch.zeros(16, 8)
        for t in range(6):
            state = cell(x[:, t], state.detach())  # cause: GS365
        loss = (head(state).squeeze(1) - x[:, 0, 0]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_loss_at_each_place() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.GRUCell(4, 8), nn.Linear(8, 1)
    opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        x, state, loss = torch.randn(16, 6, 4), torch.zeros(16, 8), torch.zeros(())
        for t in range(6):
            state = cell(x[:, t], state.detach())
            loss = loss + (head(state).squeeze(1) - x[:, t, 0]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
