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


def bad_nodes_given_back() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Messages(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.send, self.norm = nn.Linear(8, 8), nn.LayerNorm(8)

        def forward(self, nodes, source, goal):
            gathered = torch.zeros_like(nodes).index_add(0, goal, self.send(nodes[source]))
            updated = self.norm(nodes + torch.relu(gathered))  # effect: GS334
            return nodes  # cause: GS334

    lift, read = nn.Linear(3, 8), nn.Linear(8, 1)
    messages = nn.ModuleList([Messages(), Messages()])
    opt = torch.optim.Adam([*lift.parameters(), *messages.parameters(), *read.parameters()], lr=0.01)
    source = torch.arange(10)
    goal = source.roll(1)
    for _ in range(4):
        x = torch.randn(10, 3)
        nodes = lift(x)
        for one in messages:
            nodes = one(nodes, source, goal)
        loss = (read(nodes) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
