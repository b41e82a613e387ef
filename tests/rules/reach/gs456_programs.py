"""More programs of GS456: each bad one is reported at its marks, each good one by no rule."""


def bad_written_to_what_a_mask_picks() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    twist = nn.Linear(4, 4)
    opt = torch.optim.SGD(twist.parameters(), lr=0.01)
    for _ in range(5):
        codes = twist(torch.randn(16, 4))
        cross = codes.T @ codes / 16
        same = torch.eye(4, dtype=torch.bool)
        apart = (cross - same.float()).pow(2)
        apart[~same].mul_(0.1)  # cause: GS456
        opt.zero_grad()
        apart.sum().backward()
        opt.step()


def bad_mask_is_filled_at_the_columns_of_a_list() -> None:
    import torch
    from torch import nn

    class Sparse(nn.Module):
        mask: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 4)
            self.register_buffer("mask", torch.ones(4, 8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return nn.functional.linear(x, self.linear.weight * self.mask, self.linear.bias)

        @torch.no_grad()
        def drop(self) -> None:
            smallest = self.linear.weight.abs().sum(0).sort()[1][:3]
            self.mask[:, smallest].fill_(0)  # cause: GS456

    torch.manual_seed(0)
    model = Sparse()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(40):
        opt.zero_grad()
        x = torch.randn(16, 8)
        (model(x) - x[:, :4]).pow(2).mean().backward()
        opt.step()
        if step == 30:
            model.drop()


def bad_written_to_a_row_of_what_rows_picked() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, chosen = torch.randn(8, 4), torch.randperm(8)[:3]
        x[chosen][0] = 0.0  # cause: GS456
        x[chosen][:, 1].zero_()  # cause: GS456
        opt.zero_grad()
        model(x).pow(2).mean().backward()
        opt.step()


def bad_rows_of_a_table_are_drawn_anew() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    table, unused = nn.Embedding(10, 4), torch.tensor([2, 5])
    opt = torch.optim.SGD(table.parameters(), lr=0.1)
    with torch.no_grad():
        nn.init.zeros_(table.weight[unused])  # cause: GS456
    for _ in range(3):
        opt.zero_grad()
        table(torch.randint(0, 10, (8,))).pow(2).mean().backward()
        opt.step()


def good_written_to_the_places_themselves() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, mask = nn.Linear(4, 4), torch.ones(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        x, chosen = torch.randn(8, 4), torch.randperm(4)[:2]
        x[chosen] += 1
        x[0][chosen] = 2.0
        x[torch.tensor(3)].mul_(0.5)
        mask[:, chosen] = 0.5
        part = x[chosen]
        part[0] = 1.0
        part[:, 1].zero_()
        x[chosen] = part
        kept = x[chosen].clamp_(min=0)
        opt.zero_grad()
        with torch.no_grad():
            model.weight[:, step].fill_(0.1)
            model.weight.index_fill_(1, chosen, 0.2)
        loss = nn.functional.linear(x, model.weight * mask).pow(2).mean()
        (loss + model(kept).mean()).backward()
        opt.step()


def good_written_to_what_a_slice_shows() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    twist = nn.Linear(4, 4)
    opt = torch.optim.SGD(twist.parameters(), lr=0.01)
    for _ in range(5):
        codes = twist(torch.randn(16, 4))
        apart = codes.pow(2)
        apart[:, 1:].mul_(0.1)
        opt.zero_grad()
        apart.sum().backward()
        opt.step()
