"""More programs of GS725: each bad one is reported at its marks, each good one by no rule."""


def bad_probabilities_in_batches() -> None:
    import torch
    from torch import nn

    class Table(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scores = nn.Parameter(torch.zeros(4))

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            return torch.sigmoid(self.scores[rows])

    rows, share = torch.arange(4).repeat(16), torch.tensor([0.1, 0.3, 0.5, 0.9])
    model, criterion = Table(), nn.BCELoss()
    opt = torch.optim.SGD(model.parameters(), lr=16.0)
    for _ in range(20):
        for batch in rows.split(32):
            opt.zero_grad()
            loss = criterion(model(batch), share[batch])  # cause: GS725
            loss.backward()
            opt.step()


def good_labels_of_zero_and_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = (x.sum(1, keepdim=True) > 0).float()
    model = nn.Linear(4, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(20):
        opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(model(x), y).backward()
        opt.step()


def good_slightly_smoothed_labels() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = (x.sum(1, keepdim=True) > 0).float() * 0.98 + 0.01
    model = nn.Linear(4, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.3)
    for _ in range(60):
        opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(model(x), y).backward()
        opt.step()


def bad_summed_and_divided() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, share = torch.eye(4).repeat(8, 1), torch.tensor([[0.2], [0.4], [0.6], [0.8]]).repeat(8, 2)
    model, criterion = nn.Sequential(nn.Linear(4, 2), nn.Sigmoid()), nn.BCELoss(reduction="sum")
    opt = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(60):
        opt.zero_grad()
        loss = criterion(model(x), share) / len(x)  # cause: GS725
        loss.backward()
        opt.step()


def good_summed_beside_another_term() -> None:
    """What the loss is at last is not this term alone."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, share = torch.eye(4).repeat(8, 1), torch.tensor([[0.2], [0.4], [0.6], [0.8]]).repeat(8, 2)
    model, criterion = nn.Linear(4, 2), nn.BCEWithLogitsLoss(reduction="sum")
    opt = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(30):
        opt.zero_grad()
        loss = criterion(model(x), share) / len(x) + 0.1 * model.weight.pow(2).sum()
        loss.backward()
        opt.step()
