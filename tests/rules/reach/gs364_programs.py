"""More programs of GS364: each bad one is reported at its marks, each good one by no rule."""


def bad_single_weight_in_a_module() -> None:
    import torch
    from torch import nn

    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.weight = nn.Linear(4, 3), nn.Parameter(torch.tensor(0.5))

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            given = self.body(x)
            main = nn.functional.cross_entropy(given, y)
            return main + self.weight * nn.functional.mse_loss(given.sum(1), x[:, 0])  # cause: GS364

    torch.manual_seed(0)
    model = Both()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(16, 4), torch.randint(0, 3, (16,)))
        opt.zero_grad()
        loss.backward()  # effect: GS364
        opt.step()


def good_multiplier_that_goes_up() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, multiplier = nn.Linear(4, 3), nn.Parameter(torch.tensor(1.0))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    dual = torch.optim.SGD([multiplier], lr=0.1, maximize=True)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
        given = model(x)
        loss = nn.functional.cross_entropy(given, y) + multiplier * nn.functional.mse_loss(
            given[:, 0], x[:, 0]
        )
        opt.zero_grad()
        dual.zero_grad()
        loss.backward()
        opt.step()
        dual.step()


def good_weights_with_a_price() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, weight = nn.Linear(4, 3), nn.Parameter(torch.tensor(1.0))
    opt = torch.optim.SGD([*model.parameters(), weight], lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
        loss = weight * nn.functional.cross_entropy(model(x), y) - torch.log(weight)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_dot_of_weights_and_losses() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, kilos, ripe = nn.Linear(8, 12), nn.Linear(12, 1), nn.Linear(12, 4)
    balance = nn.Parameter(torch.full((2,), 0.5))
    opt = torch.optim.AdamW([*nn.ModuleList([trunk, kilos, ripe]).parameters(), balance], lr=0.005)
    for _ in range(4):
        x = torch.randn(32, 8)
        h = trunk(x).relu()
        first = nn.functional.huber_loss(kilos(h).squeeze(1), x[:, 0])
        parts = torch.stack([first, nn.functional.cross_entropy(ripe(h), x[:, :4].argmax(1))])
        loss = torch.dot(balance, parts)  # cause: GS364
        opt.zero_grad()
        loss.backward()  # effect: GS364
        opt.step()


def good_dot_of_weights_that_pay() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, kilos, ripe = nn.Linear(8, 12), nn.Linear(12, 1), nn.Linear(12, 4)
    balance = nn.Parameter(torch.full((2,), 0.5))
    opt = torch.optim.AdamW([*nn.ModuleList([trunk, kilos, ripe]).parameters(), balance], lr=0.005)
    for turn in range(4):
        x = torch.randn(32, 8)
        h = trunk(x).relu()
        first = nn.functional.huber_loss(kilos(h).squeeze(1), x[:, 0])
        parts = torch.stack([first, nn.functional.cross_entropy(ripe(h), x[:, :4].argmax(1))])
        if turn % 2:
            loss = torch.dot(torch.exp(-balance), parts) + balance.sum()
        else:
            loss = balance.softmax(0) @ parts
        opt.zero_grad()
        loss.backward()
        opt.step()
