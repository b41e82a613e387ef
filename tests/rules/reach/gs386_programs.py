"""More programs of GS386: each bad one is reported at its marks, each good one by no rule."""


def bad_begun_by_the_first_turn() -> None:
    import torch
    from torch import nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.head = nn.GRUCell(2, 8), nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            state, outputs = x.new_zeros(len(x), 8), None
            for t in range(x.shape[1]):
                state = self.cell(x[:, t], state)
                if outputs is None:
                    outputs = state.unsqueeze(1)
                else:
                    outputs = torch.cat((state.unsqueeze(1), outputs), dim=1)  # cause: GS386
            assert outputs is not None
            return self.head(outputs[:, -1])  # effect: GS386

    torch.manual_seed(0)
    model = Reader()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        x = torch.randn(16, 5, 2)
        opt.zero_grad()
        (model(x) - x.sum((1, 2))[:, None]).pow(2).mean().backward()
        opt.step()


def good_from_the_end_to_the_beginning() -> None:
    """In front is where the newest belongs, and the first place is taken."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.RNNCell(2, 8), nn.Linear(8, 1)
    opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        x, state = torch.randn(16, 5, 2), torch.zeros(16, 8)
        outputs = torch.zeros(16, 0, 8)
        for t in reversed(range(5)):
            state = cell(x[:, t], state)
            outputs = torch.cat([state.unsqueeze(1), outputs], 1)
        opt.zero_grad()
        (head(outputs[:, 0]) - x.sum((1, 2))[:, None]).pow(2).mean().backward()
        opt.step()


def good_all_places_are_read() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.RNNCell(2, 8), nn.Linear(8, 1)
    opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        x, state = torch.randn(16, 5, 2), torch.zeros(16, 8)
        outputs = torch.zeros(16, 0, 8)
        for t in reversed(range(5)):
            state = cell(x[:, t], state)
            outputs = torch.cat([state.unsqueeze(1), outputs], 1)
        answer = head(outputs[:, -1]) + head(outputs.mean(1))
        opt.zero_grad()
        (answer - x.sum((1, 2))[:, None]).pow(2).mean().backward()
        opt.step()


def bad_list_from_the_front() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.GRUCell(1, 8), nn.Linear(8, 1)
    opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        coins, h = torch.randn(16, 5), torch.zeros(16, 8)
        seen: list[torch.Tensor] = []
        for coin in coins.unbind(1):
            h = cell(coin[:, None], h)
            seen.insert(0, h)  # cause: GS386
        last = torch.stack(seen, 1)[:, -1]  # effect: GS386
        opt.zero_grad()
        (head(last) - coins.sum(1, keepdim=True)).pow(2).mean().backward()
        opt.step()


def good_lists_from_the_front() -> None:
    """From the end to the beginning; and one with the newest in front, of which the first is taken."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, back, head = nn.GRUCell(1, 8), nn.GRUCell(1, 8), nn.Linear(16, 1)
    opt = torch.optim.Adam([*cell.parameters(), *back.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        coins, h, g = torch.randn(16, 5), torch.zeros(16, 8), torch.zeros(16, 8)
        ahead: list[torch.Tensor] = []
        behind: list[torch.Tensor] = []
        newest: list[torch.Tensor] = []
        for coin in coins.unbind(1):
            h = cell(coin[:, None], h)
            ahead.append(h)
            newest.insert(0, h)
        for coin in coins.flip(1).unbind(1):
            g = back(coin[:, None], g)
            behind.insert(0, g)
        both = torch.cat([torch.stack(ahead, 1)[:, -1], torch.stack(behind, 1)[:, 0]], 1)
        first = torch.stack(newest)[0].mean()
        opt.zero_grad()
        (head(both) + 0 * first - coins.sum(1, keepdim=True)).pow(2).mean().backward()
        opt.step()
