def bad_number_is_shown() -> None:
    import torch
    from torch import nn

    def train(passes: int) -> None:
        print("passes for each step:", passes)
        model = nn.Linear(4, 1)
        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(12):
            x = torch.randn(8, 4)
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            if passes > 1:
                loss = loss / passes  # cause: GS375
            loss.backward()
            opt.step()  # effect: GS375
            model.zero_grad()

    torch.manual_seed(0)
    train(4)


def good_mean_over_heads() -> None:
    """The number is one of parts: it makes them."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    parts = 3
    model = nn.Linear(4, parts)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(8):
        x = torch.randn(8, 4)
        loss = (model(x) - x[:, :1]).pow(2).sum(1).mean()
        if parts > 1:
            loss = loss / parts
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_scaled_by_a_setting() -> None:
    """A temperature: no condition asks whether it is more than 1."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    temperature = 2.0
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(8):
        x = torch.randn(8, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)) / temperature
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_every_pass_where_it_is_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    passes = 1
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(8):
        x = torch.randn(8, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)) / passes
        loss.backward()
        if (i + 1) % passes == 0:
            opt.step()
            opt.zero_grad()


def bad_chosen_in_one_line() -> None:
    import torch
    from torch import nn

    class Training:
        def __init__(self, rate: float, gathered: int) -> None:
            self.net, self.gathered, self.turn = nn.Linear(6, 2), gathered, 0
            self.opt = torch.optim.SGD(self.net.parameters(), lr=rate)

        def batch(self, x: torch.Tensor) -> None:
            loss = nn.functional.l1_loss(self.net(x), x[:, :2])
            loss = torch.div(loss, self.gathered) if self.gathered != 1 else loss  # cause: GS375
            loss.backward()
            self.turn += 1
            self.opt.step()  # effect: GS375
            self.opt.zero_grad()

    torch.manual_seed(0)
    training = Training(0.05, 4)
    for _ in range(12):
        training.batch(torch.randn(8, 6))


def good_chosen_in_one_line() -> None:
    import torch
    from torch import nn

    class Accumulating:
        def __init__(self, rate: float, several: int) -> None:
            self.net, self.several, self.turn = nn.Linear(6, 2), several, 0
            self.opt = torch.optim.SGD(self.net.parameters(), lr=rate)

        def batch(self, x: torch.Tensor) -> None:
            loss = nn.functional.l1_loss(self.net(x), x[:, :2])
            loss = torch.div(loss, self.several) if self.several != 1 else loss
            loss.backward()
            self.turn += 1
            if self.turn % self.several == 0:
                self.opt.step()
                self.opt.zero_grad()

    torch.manual_seed(0)
    training = Accumulating(0.05, 4)
    for _ in range(12):
        training.batch(torch.randn(8, 6))
