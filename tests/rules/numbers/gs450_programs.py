"""More programs of GS450: each bad one is reported at its marks, each good one by no rule."""


def bad_reserved_by_its_sizes() -> None:
    import torch
    from torch import nn

    weight = nn.Parameter(torch.Tensor(3, 6))  # cause: GS450
    layer = nn.Linear(3, 2)
    opt = torch.optim.SGD([weight, *layer.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 6) @ torch.tanh(torch.nan_to_num(weight)).t()
        loss = nn.functional.cross_entropy(layer(x), torch.randint(0, 2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_filled_through_its_data() -> None:
    import torch
    from torch import nn

    weight, offset = nn.Parameter(torch.empty(3, 6)), nn.Parameter(torch.Tensor(3))
    weight.data.uniform_(-0.1, 0.1)
    offset.data.zero_()
    layer = nn.Linear(3, 2)
    opt = torch.optim.SGD([weight, offset, *layer.parameters()], lr=0.1)
    for _ in range(3):
        x = nn.functional.linear(torch.randn(8, 6), weight, offset)
        loss = nn.functional.cross_entropy(layer(x), torch.randint(0, 2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_filled_before_it_is_a_parameter() -> None:
    import torch
    from torch import nn

    numbers = torch.empty(3, 6)
    for row in numbers:
        row.fill_(0.1)
    weight, zeros = nn.Parameter(numbers), nn.Parameter(torch.empty(3).zero_())
    layer = nn.Linear(3, 2)
    opt = torch.optim.SGD([weight, zeros, *layer.parameters()], lr=0.1)
    for _ in range(3):
        x = nn.functional.linear(torch.randn(8, 6), weight, zeros)
        loss = nn.functional.cross_entropy(layer(x), torch.randint(0, 2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_loaded_before_its_first_use() -> None:
    import torch
    from torch import nn

    class Scores(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.classes = nn.Parameter(torch.empty(3, 6))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ self.classes.t()

    model = Scores()
    model.load_state_dict({"classes": torch.zeros(3, 6)})
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(torch.randn(8, 6)), torch.randint(0, 3, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_filled_where_it_is_made() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    weights = [
        nn.Parameter(torch.Tensor(4, 1).uniform_(-0.5, 0.5)),
        nn.Parameter(torch.FloatTensor(4, 1).normal_() * 0.1),
        nn.Parameter(nn.init.xavier_uniform_(torch.Tensor(4, 1))),
        nn.Parameter(data=torch.Tensor(4, 1).normal_().data),
    ]
    opt = torch.optim.SGD(weights, lr=0.05)
    for _ in range(6):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (sum(x @ w for w in weights) - x.sum(dim=1, keepdim=True)).pow(2).mean().backward()
        opt.step()
