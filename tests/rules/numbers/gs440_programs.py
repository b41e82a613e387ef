"""More programs of GS440: each bad one is reported at its marks, each good one by no rule."""


def bad_network_that_ends_in_a_layer() -> None:
    import torch
    from torch import nn

    class Critic(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Linear(4, 1)
            self.squash = nn.Sigmoid()  # cause: GS440

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.squash(self.body(x)).squeeze(1)

    torch.manual_seed(0)
    critic, loss = Critic(), nn.BCELoss()
    opt = torch.optim.SGD(critic.parameters(), lr=0.01)
    for _ in range(12):
        x = torch.randn(64, 4) * 200
        opt.zero_grad()
        error = loss(critic(x), (x[:, 0] > 0).float())  # effect: GS440
        error.backward()
        opt.step()


def good_probabilities_that_are_right() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor([[40.0, 0.0, 0.0, 0.0]]))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(12):
        x = torch.randn(64, 4)
        x[:, 0] += 3 * x[:, 0].sign()
        opt.zero_grad()
        nn.functional.binary_cross_entropy(model(x).squeeze(1), (x[:, 0] > 0).float()).backward()
        opt.step()


def good_probabilities_in_between() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(12):
        x = torch.randn(64, 4)
        opt.zero_grad()
        nn.functional.binary_cross_entropy(model(x).squeeze(1), (x[:, 0] > 0).float()).backward()
        opt.step()
