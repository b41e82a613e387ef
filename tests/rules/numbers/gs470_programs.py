"""More programs of GS470: each bad one is reported at its marks, each good one by no rule."""


def bad_in_a_model_that_goes_one_way() -> None:
    import torch
    from torch import nn

    class Solver(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.rnn = nn.Embedding(8, 16), nn.GRU(16, 16, batch_first=True)
            self.head = nn.Linear(16, 8)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return self.head(self.rnn(self.embedding(tokens))[0])[:, 5:, :]

    torch.manual_seed(0)
    model = Solver()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    criterion = nn.CrossEntropyLoss()
    for _ in range(4):
        question = torch.randint(0, 8, (16, 5))
        tokens = torch.cat([question, question[:, :4].flip(1)], 1)
        scores = model(tokens)  # cause: GS470
        loss = criterion(scores.transpose(1, 2), tokens[:, 5:])  # effect: GS470
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_next_tokens_behind_a_prompt() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(8, 16), nn.GRU(16, 16, batch_first=True), nn.Linear(16, 8)
    opt = torch.optim.Adam([p for m in (embedding, rnn, head) for p in m.parameters()], lr=0.01)
    for _ in range(4):
        question = torch.randint(0, 8, (16, 5))
        tokens = torch.cat([question, question[:, :4].flip(1)], 1)
        hidden = rnn(embedding(tokens))[0]
        scores = head(hidden[:, 4:-1])
        loss = nn.functional.cross_entropy(scores.reshape(-1, 8), tokens[:, 5:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_some_of_the_answers_hidden() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, layer = (
        nn.Embedding(8, 16),
        nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True),
    )
    position, head = nn.Parameter(torch.randn(9, 16)), nn.Linear(16, 7)
    opt = torch.optim.Adam(
        [position, *(p for m in (embedding, layer, head) for p in m.parameters())], lr=0.01
    )
    for _ in range(4):
        question = torch.randint(0, 7, (16, 5))
        tokens = torch.cat([question, question[:, :4].flip(1)], 1)
        given = tokens.clone()
        given[:, 5:][torch.rand(16, 4) < 0.5] = 7
        scores = head(layer(embedding(given) + position)[:, 5:])
        loss = nn.functional.cross_entropy(scores.reshape(-1, 7), tokens[:, 5:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
