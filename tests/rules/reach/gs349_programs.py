"""More programs of GS349: each bad one is reported at its marks, each good one by no rule."""


def bad_no_letter_is_left() -> None:
    import torch
    from torch import nn

    class Factors(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.reader, self.book = nn.Embedding(20, 4), nn.Embedding(30, 4)
            self.of_reader, self.of_book = nn.Embedding(20, 1), nn.Embedding(30, 1)

        def forward(self, who: torch.Tensor, what: torch.Tensor) -> torch.Tensor:
            liking = torch.einsum("bd,bd->", self.reader(who), self.book(what))  # cause: GS349
            base = self.of_reader(who) + self.of_book(what)
            return 3 + base.squeeze(1) + liking  # effect: GS349

    torch.manual_seed(6)
    net = Factors()
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(6):
        who, what = torch.randint(20, (16,)), torch.randint(30, (16,))
        opt.zero_grad()
        (net(who, what) - (who % 5)).pow(2).mean().backward()
        opt.step()


def good_the_letter_of_the_samples_stays() -> None:
    import torch
    from torch import nn

    class Factors(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.reader, self.book = nn.Embedding(20, 4), nn.Embedding(30, 4)
            self.of_reader, self.of_book = nn.Embedding(20, 1), nn.Embedding(30, 1)
            self.mixing = nn.Parameter(torch.randn(4, 4))

        def forward(self, who: torch.Tensor, what: torch.Tensor) -> torch.Tensor:
            liking = torch.einsum("bd,bd->b", self.reader(who), self.book(what))
            size = torch.einsum("ij,ij->", self.mixing, self.mixing)
            base = self.of_reader(who) + self.of_book(what)
            return 3 + base.squeeze(1) + liking + 0.01 * size

    torch.manual_seed(6)
    net = Factors()
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(6):
        who, what = torch.randint(20, (16,)), torch.randint(30, (16,))
        opt.zero_grad()
        (net(who, what) - (who % 5)).pow(2).mean().backward()
        opt.step()
