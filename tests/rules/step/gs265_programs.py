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
