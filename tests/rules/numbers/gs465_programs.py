"""Programs for GS465."""

from __future__ import annotations


def bad_method_in_an_evaluation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(32, 4)
    y = x[:, :3].argmax(dim=-1)
    for _ in range(4):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        best = model(x).softmax(1).argmax()  # cause: GS465
        right = y.eq(best).sum().item()  # effect: GS465
    print(right / len(y))


def good_place_in_a_table() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        scores = model(x)
        loss = nn.functional.cross_entropy(scores, x[:, :3].argmax(dim=1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        place = scores.argmax()
        row, column = divmod(int(place), 3)
        marked = torch.arange(scores.numel()) == place
        print(row, column, marked.sum().item())
