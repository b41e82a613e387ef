"""More programs of GS471: each bad one is reported at its marks, each good one by no rule."""


def bad_written_to_the_input() -> None:
    import torch
    from torch import nn

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.rnn = nn.Embedding(9, 8), nn.GRU(8, 16, batch_first=True)
            self.head = nn.Linear(16, 9)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return self.head(self.rnn(self.embedding(tokens))[0])

    def own_tokens(model: nn.Module, given: torch.Tensor) -> torch.Tensor:
        mixed = given.clone()
        with torch.no_grad():
            own = model(mixed).argmax(dim=-1)  # cause: GS471
        swap = torch.rand(8, 6) < 0.3
        mixed[swap] = own[swap]  # effect: GS471
        return mixed

    torch.manual_seed(0)
    model, criterion = Decoder(), nn.CrossEntropyLoss()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        wanted = torch.randint(1, 9, (8, 6))
        given = torch.cat([torch.zeros(8, 1, dtype=torch.long), wanted[:, :-1]], 1)
        loss = criterion(model(own_tokens(model, given)).transpose(1, 2), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_masked_tokens_filled_in() -> None:
    """A second pass corrects what the first one has filled in: the answers stand where they were asked for."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, rnn, head = (
        nn.Embedding(9, 8),
        nn.GRU(8, 8, batch_first=True, bidirectional=True),
        nn.Linear(16, 9),
    )
    opt = torch.optim.Adam([p for m in (embedding, rnn, head) for p in m.parameters()], lr=0.01)
    for _ in range(4):
        wanted = torch.randint(1, 9, (8, 6))
        hidden = torch.rand(8, 6) < 0.4
        given = wanted.masked_fill(hidden, 0)
        with torch.no_grad():
            own = head(rnn(embedding(given))[0]).argmax(-1)
        scores = head(rnn(embedding(torch.where(hidden, own, given)))[0])
        loss = nn.functional.cross_entropy(scores.reshape(-1, 9), wanted.reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_both_cut() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(9, 8), nn.GRU(8, 16, batch_first=True), nn.Linear(16, 9)
    opt = torch.optim.Adam([p for m in (embedding, rnn, head) for p in m.parameters()], lr=0.01)
    for _ in range(4):
        wanted = torch.randint(1, 9, (8, 6))
        given = torch.cat([torch.zeros(8, 1, dtype=torch.long), wanted[:, :-1]], 1)
        with torch.no_grad():
            own = head(rnn(embedding(given))[0]).argmax(-1)
        later = torch.where(torch.rand(8, 5) < 0.3, own[:, :-1], given[:, 1:])
        mixed = torch.cat([given[:, :1], later], 1)
        scores = head(rnn(embedding(mixed))[0])
        loss = nn.functional.cross_entropy(scores.reshape(-1, 9), wanted.reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
