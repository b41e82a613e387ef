"""More programs of GS791: each bad one is reported at its marks, each good one by no rule."""


def bad_in_two_statements() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Conv2d(1, 1, 3, padding=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(4, 1, 8, 8)
        y, mask = (x > 1).float(), torch.zeros(4, 1, 8, 8)
        mask[..., 2:6] = 1
        scores = model(x) * mask  # cause: GS791
        p, y = torch.sigmoid(scores), y * mask  # effect: GS791
        loss = 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_in_a_base_class() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Dice(nn.Module):
        def forward(self, scores: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            p = scores.sigmoid()  # effect: GS791
            return 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)

    class Masked(Dice):
        def forward(self, scores: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            return super().forward(scores * mask, y * mask)  # cause: GS791

    model, criterion = nn.Conv2d(1, 1, 3, padding=1), Masked()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(4, 1, 8, 8)
        loss = criterion(model(x), (x > 1).float(), (torch.arange(8) < 5).float().expand(4, 1, 8, 8))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_masked_scores_of_a_cross_entropy() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Conv2d(1, 1, 3, padding=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(4, 1, 8, 8)
        mask = (torch.arange(8) < 5).float().expand(4, 1, 8, 8)
        p = torch.sigmoid(model(x) * mask)
        each = nn.functional.binary_cross_entropy(p, (x > 1).float(), reduction="none")
        loss = (each * mask).sum() / mask.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_masked_once_more() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Conv2d(1, 1, 3, padding=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(4, 1, 8, 8)
        mask = (torch.arange(8) < 5).float().expand(4, 1, 8, 8)
        y = (x > 1).float() * mask
        p = torch.sigmoid(model(x) * mask) * mask
        loss = 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_gates_with_dropped_scores() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    gate, value = nn.Linear(6, 6), nn.Linear(6, 1)
    opt = torch.optim.SGD([*gate.parameters(), *value.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 6)
        kept = (torch.rand(16, 6) > 0.3).float()
        weights = torch.sigmoid(gate(x) * kept)
        mixed = (weights * x) / weights.sum(1, keepdim=True)
        loss = (value(mixed) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
