"""More programs of GS265: each bad one is reported at its marks, each good one by no rule."""


def bad_in_a_branch_of_the_loop() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = nn.Linear(3, 3), nn.Linear(3, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(self.body(x).tanh())

    own_rate, model = True, Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    if own_rate:
        opt_body = torch.optim.SGD(model.body.parameters(), lr=0.1)
    for _ in range(20):
        loss = model(torch.randn(8, 3)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        if own_rate:
            model.body.requires_grad_(True)  # cause: GS265
            opt_body.step()
            model.body.requires_grad_(False)  # effect: GS265
        opt.step()


def good_part_frozen_for_good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for step in range(12):
        if step > 5:
            body.requires_grad_(False)
        opt.zero_grad()
        loss = head(body(torch.randn(8, 3)).tanh()).pow(2).mean()
        loss.backward()
        if step > 5:
            body.requires_grad_(True)
        opt.step()


def good_judge_takes_its_turn() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    maker, judge = nn.Linear(3, 3), nn.Linear(3, 1)
    opt_maker = torch.optim.SGD(maker.parameters(), lr=0.1)
    opt_judge = torch.optim.SGD(judge.parameters(), lr=0.1)
    for _ in range(6):
        judge.requires_grad_(False)
        opt_maker.zero_grad()
        judge(maker(torch.randn(8, 3)).tanh()).pow(2).mean().backward()
        opt_maker.step()
        judge.requires_grad_(True)
        opt_judge.zero_grad()
        made = maker(torch.randn(8, 3)).detach()
        (judge(made) - judge(torch.randn(8, 3))).pow(2).mean().backward()
        opt_judge.step()


def bad_by_a_function_for_both() -> None:
    from collections.abc import Iterable

    import torch
    from torch import nn

    def gate(weights: Iterable[nn.Parameter], on: bool) -> None:
        for w in weights:
            w.requires_grad_(on)

    class Pair:
        def __init__(self) -> None:
            self.maker, self.judge = nn.Linear(4, 2), nn.Linear(2, 1)
            self.make_step = torch.optim.Adam(self.maker.parameters(), lr=0.001)
            self.judge_step = torch.optim.Adam(self.judge.parameters(), lr=0.001)

        def train(self, real: torch.Tensor) -> None:
            self.make_step.zero_grad()
            self.judge_step.zero_grad()
            fake = self.maker(torch.randn(len(real), 4))
            loss = (fake.mean(0) - real.mean(0)).pow(2).sum()
            loss = loss + nn.functional.softplus(-self.judge(fake)).mean()
            (loss + nn.functional.softplus(self.judge(real)).mean()).backward()
            gate(self.judge.parameters(), True)  # cause: GS265
            self.judge_step.step()
            gate(self.judge.parameters(), False)  # effect: GS265
            self.make_step.step()

    torch.manual_seed(0)
    pair = Pair()
    for _ in range(6):
        pair.train(torch.randn(16, 2))
