"""More programs of GS787: each bad one is reported at its marks, each good one by no rule."""


def bad_counted_in_batches() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(90, 4)
    y = (x[:, 0] > 0).float()
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    correct = 0
    for i in range(0, 90, 30):
        out = torch.sigmoid(model(x[i : i + 30]))
        loss = nn.functional.binary_cross_entropy(out.squeeze(1), y[i : i + 30])
        opt.zero_grad()
        loss.backward()
        opt.step()
        correct += torch.sum(y[i : i + 30] == out.round()).item()  # cause: GS787


def good_pairs_of_labels() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    labels = torch.randint(3, (32,))
    others = torch.randint(3, (32,))
    for _ in range(4):
        z = nn.functional.normalize(model(torch.randn(32, 4)), dim=1)
        same = labels.unsqueeze(1) == labels
        positive = (labels.unsqueeze(1) == others).float()
        loss = ((z @ z.T) * (~same)).mean() - ((z @ z.T) * positive).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        (same.float().mean().item(), positive.sum(dim=1).max().item())
