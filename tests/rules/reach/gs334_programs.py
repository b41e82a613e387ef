"""More programs of GS334: each bad one is reported at its marks, each good one by no rule."""


def bad_alone() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(4, 6), nn.Linear(6, 2)

    def evened(h: torch.Tensor) -> torch.Tensor:
        even = nn.functional.layer_norm(h, (6,))  # effect: GS334
        return h  # cause: GS334

    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (head(evened(body(x))) - x[:, :2]).pow(2).mean().backward()
        opt.step()


def good_result_is_kept() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Watched(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.decoder, self.error = nn.Linear(6, 6), torch.zeros(())

        def forward(self, h: torch.Tensor) -> torch.Tensor:
            again = self.decoder(h.detach())
            self.error = (again - h.detach()).pow(2).mean()
            return h

    body, watched, head = nn.Linear(4, 6), Watched(), nn.Linear(6, 2)
    opt = torch.optim.SGD([*body.parameters(), *watched.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        opt.zero_grad()
        loss = (head(watched(body(x))) - x[:, :2]).pow(2).mean() + watched.error
        loss.backward()
        opt.step()


def good_shown_only() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(4, 6), nn.Linear(6, 2)
    shown = []

    def looked_at(h: torch.Tensor) -> torch.Tensor:
        squashed = torch.tanh(h)
        shown.append(squashed.std().item())
        return h

    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (head(looked_at(body(x))) - x[:, :2]).pow(2).mean().backward()
        opt.step()


def good_changed_in_place() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(4, 6), nn.Linear(6, 2)

    def bounded(h: torch.Tensor) -> torch.Tensor:
        same = h.clamp_(-1, 1)
        return h

    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (head(bounded(body(x) * 1)) - x[:, :2]).pow(2).mean().backward()
        opt.step()


def good_other_branch_returns_it() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Skipped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.on = nn.Linear(6, 6), True

        def forward(self, h: torch.Tensor) -> torch.Tensor:
            if not self.on:
                return h
            out: torch.Tensor = h + self.layer(h)
            return out

    body, skipped, head = nn.Linear(4, 6), Skipped(), nn.Linear(6, 2)
    opt = torch.optim.SGD([*body.parameters(), *skipped.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (head(skipped(body(x))) - x[:, :2]).pow(2).mean().backward()
        opt.step()
