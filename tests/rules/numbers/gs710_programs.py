"""More programs of GS710: each bad one is reported at its marks, each good one by no rule."""


def bad_branch_whose_gate_and_last_layer_are_zero() -> None:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.outer = nn.Linear(4, 8), nn.Linear(8, 4)
            nn.init.zeros_(self.outer.weight)  # cause: GS710
            nn.init.zeros_(self.outer.bias)  # cause: GS710
            self.gain = nn.Parameter(torch.zeros(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            branch = self.outer(torch.relu(self.inner(x)))
            return x + self.gain * branch

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), Block(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()  # effect: GS710
        opt.step()


def bad_low_rank_both_zero() -> None:  # fix: by hand
    import torch
    from torch import nn

    class LowRank(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.base = nn.Linear(4, 4)
            self.down = nn.Parameter(torch.zeros(2, 4))  # cause: GS710
            self.up = nn.Parameter(torch.zeros(4, 2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.base(x) + x @ self.down.T @ self.up.T
            return y

    torch.manual_seed(0)
    model = nn.Sequential(LowRank(), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()  # effect: GS710
        opt.step()


def good_low_rank() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    base, head = nn.Linear(4, 4), nn.Linear(4, 1)
    down, up = nn.Parameter(torch.randn(2, 4)), nn.Parameter(torch.zeros(4, 2))
    opt = torch.optim.Adam([*base.parameters(), *head.parameters(), down, up], lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        x = torch.randn(8, 4)
        head(torch.tanh(base(x) + x @ down.T @ up.T)).pow(2).mean().backward()
        opt.step()


def good_each_of_two_branches_ends_in_zeros() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    second = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    head = nn.Linear(4, 1)
    for branch in (first, second):
        for p in branch[2].parameters():
            nn.init.zeros_(p)
    opt = torch.optim.SGD(nn.ModuleList([first, second, head]).parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        hidden = torch.randn(8, 4)
        hidden = hidden + first(hidden)
        hidden = hidden + second(hidden)
        head(hidden).pow(2).mean().backward()
        opt.step()


def good_a_term_that_counts_later() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, main, extra = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
    nn.init.zeros_(extra.weight)
    nn.init.zeros_(extra.bias)
    opt = torch.optim.SGD(nn.ModuleList([body, main, extra]).parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        hidden = torch.relu(body(torch.randn(8, 4)))
        (main(hidden).pow(2).mean() + 0.0 * (extra(hidden) - 1).pow(2).mean()).backward()
        opt.step()


def bad_rows_of_two_tables() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Factors(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.taste = nn.Parameter(torch.zeros(30, 3))  # cause: GS710
            self.theme = nn.Parameter(torch.zeros(20, 3))
            self.bias = nn.Parameter(torch.zeros(20))

        def forward(self, reader: torch.Tensor, book: torch.Tensor) -> torch.Tensor:
            return torch.einsum("nk,nk->n", self.taste[reader], self.theme[book]) + self.bias[book]

    net = Factors()
    opt = torch.optim.Adagrad(net.parameters(), lr=0.1)
    for _ in range(6):
        reader, book, stars = torch.randint(30, (50,)), torch.randint(20, (50,)), 3 + torch.randn(50)
        opt.zero_grad()
        (net(reader, book) - stars).square().mean().backward()  # effect: GS710
        opt.step()


def bad_both_halves_of_an_update() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Adapted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("frozen", torch.randn(6, 4))
            self.up = nn.Parameter(torch.zeros(6, 2))  # cause: GS710
            self.down = nn.Parameter(torch.zeros(2, 4))
            self.head = nn.Linear(6, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.head(nn.functional.linear(x, self.frozen + self.up @ self.down))
            return scores

    model = Adapted()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        opt.zero_grad()
        model(torch.randn(16, 4)).pow(2).mean().backward()  # effect: GS710
        opt.step()


def good_one_table_begins_at_zero() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    taste, theme = nn.Embedding(30, 3), nn.Embedding(20, 3)
    nn.init.normal_(taste.weight, std=0.1)
    nn.init.zeros_(theme.weight)
    opt = torch.optim.Adagrad([*taste.parameters(), *theme.parameters()], lr=0.1)
    for _ in range(6):
        reader, book, stars = torch.randint(30, (50,)), torch.randint(20, (50,)), torch.randn(50)
        opt.zero_grad()
        ((taste(reader) * theme(book)).sum(1) - stars).square().mean().backward()
        opt.step()


def good_one_half_of_an_update_begins_at_zero() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    frozen, head = torch.randn(6, 4), nn.Linear(6, 1)
    down = nn.Parameter(torch.randn(2, 4) * 0.5)
    up = nn.Parameter(torch.zeros(6, 2))
    opt = torch.optim.SGD([down, up, *head.parameters()], lr=0.1)
    for _ in range(6):
        opt.zero_grad()
        x = torch.randn(16, 4)
        head(nn.functional.linear(x, frozen + up @ down)).pow(2).mean().backward()
        opt.step()


def bad_view_of_all_rows_filled() -> None:
    """`weight[None]` is a view of the whole table."""
    import torch
    from torch import nn

    def table(words: int, padding: int | None = None) -> nn.Embedding:
        made = nn.Embedding(words, 4, padding_idx=padding)
        nn.init.constant_(made.weight[padding], 0)  # cause: GS710
        return made

    torch.manual_seed(0)
    inner, outer = table(10), table(10)
    opt = torch.optim.Adam([*inner.parameters(), *outer.parameters()], lr=0.1)
    for _ in range(6):
        one, other = torch.randint(0, 10, (32,)), torch.randint(0, 10, (32,))
        opt.zero_grad()
        scores = (inner(one) * outer(other)).sum(-1)
        wanted = (one == other).float()
        nn.functional.binary_cross_entropy_with_logits(scores, wanted).backward()  # effect: GS710
        opt.step()


def good_row_of_the_padding_filled() -> None:
    import torch
    from torch import nn

    def table(words: int, padding: int) -> nn.Embedding:
        made = nn.Embedding(words, 4, padding_idx=padding)
        nn.init.constant_(made.weight[padding], 0)
        return made

    torch.manual_seed(0)
    inner, outer = table(10, 0), table(10, 0)
    opt = torch.optim.Adam([*inner.parameters(), *outer.parameters()], lr=0.1)
    for _ in range(6):
        one, other = torch.randint(0, 10, (32,)), torch.randint(0, 10, (32,))
        opt.zero_grad()
        scores = (inner(one) * outer(other)).sum(-1)
        nn.functional.binary_cross_entropy_with_logits(scores, (one == other).float()).backward()
        opt.step()
