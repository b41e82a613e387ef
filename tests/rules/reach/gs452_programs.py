"""More programs of GS452: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_in_a_function_and_turned_round() -> None:
    import torch
    from torch import nn

    def rounded(x: torch.Tensor) -> torch.Tensor:
        q = torch.clamp(torch.round(x * 8), -7, 7) / 8
        return q - x + x.detach()  # cause: GS452

    torch.manual_seed(0)
    body, head = nn.Linear(4, 16), nn.Linear(16, 1)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(5):
        x = torch.randn(64, 4)
        loss = (head(rounded(body(x))) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS452
        opt.step()


def bad_the_likeliest_in_place_of_the_share() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(5):
        x = torch.randn(64, 4)
        p = body(x).softmax(-1)
        one = nn.functional.one_hot(p.argmax(-1), 8).float()
        loss = (head(p.detach() - (p - one)) - x[:, :1]).pow(2).mean()  # cause: GS452
        opt.zero_grad()
        loss.backward()  # effect: GS452
        opt.step()


def bad_weights_of_two_values() -> None:  # fix: by hand
    """In two statements, of a parameter."""
    import torch
    from torch import nn

    class Signs(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            w = self.weight
            size = w.detach().abs().mean()
            change = torch.sign(w) * size - w
            return nn.functional.linear(x, w.detach().add(change), self.bias)  # cause: GS452

    torch.manual_seed(0)
    model = nn.Sequential(Signs(4, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        x = torch.randn(64, 4)
        loss = (model(x) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS452
        opt.step()


def good_of_many_kinds() -> None:
    import torch
    from torch import nn

    def rounded(x: torch.Tensor) -> torch.Tensor:
        q = torch.clamp(torch.round(x * 8), -7, 7) / 8
        return q - x.detach() + x

    torch.manual_seed(0)
    body, head, book = nn.Linear(4, 16), nn.Linear(16, 1), nn.Embedding(32, 16)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters(), *book.parameters()], lr=0.1)
    for _ in range(5):
        x = torch.randn(64, 4)
        level = body(x)
        p = level.softmax(-1)
        one = nn.functional.one_hot(p.argmax(-1), 16).float()
        hard = one - p.detach() + p
        code = book(torch.cdist(level.detach(), book.weight.detach()).argmin(-1))
        near = level + (code - level).detach()
        loss = (head(rounded(level) + hard + near) - x[:, :1]).pow(2).mean()
        loss = loss + (code - level.detach()).pow(2).mean() + 0.25 * (level - code.detach()).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_reversed_on_purpose() -> None:
    """A reversal of the gradient in one line, and a value that falls where the other rises."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head, other = nn.Linear(4, 16), nn.Linear(16, 1), nn.Linear(16, 2)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters(), *other.parameters()], lr=0.1)
    for _ in range(5):
        x = torch.randn(64, 4)
        level = body(x)
        back = level.detach() + (level.detach() - level)
        less = level.detach() + ((-4 * level).round() / 4 - level)
        loss = (head(level + less) - x[:, :1]).pow(2).mean()
        loss = loss + nn.functional.cross_entropy(other(back), (x[:, 0] > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
