"""More programs of GS470: each bad one is reported at its marks, each good one by no rule."""


def bad_in_a_model_that_goes_one_way() -> None:  # fix: by hand
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


def bad_forced_with_the_step_itself() -> None:
    import random

    import torch
    from torch import nn

    torch.manual_seed(0)
    random.seed(0)
    cell, head = nn.GRUCell(2, 8), nn.Linear(8, 2)
    opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    for _ in range(6):
        series = torch.randn(16, 7, 2).cumsum(1)
        last, future = series[:, 0], series[:, 1:]
        state, answers = torch.zeros(16, 8), []
        for i in range(6):
            if random.random() < 0.6:
                last = future[:, i]  # cause: GS470
            state = cell(last, state)  # effect: GS470
            last = head(state)
            answers.append(last)
        loss = nn.functional.mse_loss(torch.stack(answers, 1), future)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_forced_with_the_step_before() -> None:
    import random

    import torch
    from torch import nn

    torch.manual_seed(0)
    random.seed(0)
    cell, head = nn.GRUCell(2, 8), nn.Linear(8, 2)
    opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    for _ in range(6):
        series = torch.randn(16, 7, 2).cumsum(1)
        last, future = series[:, 0], series[:, 1:]
        state, answers = torch.zeros(16, 8), []
        for i in range(6):
            if i > 0 and random.random() < 0.6:
                last = future[:, i - 1]
            state = cell(last, state)
            last = head(state)
            answers.append(last)
        loss = nn.functional.mse_loss(torch.stack(answers, 1), future)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_each_step_encoded_and_decoded() -> None:
    """An autoencoder of frames with a state: a step is to give what it was given, through a narrow code."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, cell, decoder = nn.Linear(6, 2), nn.GRUCell(2, 8), nn.Linear(8, 6)
    opt = torch.optim.Adam([p for m in (encoder, cell, decoder) for p in m.parameters()], lr=0.01)
    for _ in range(6):
        frames = torch.randn(5, 16, 6).cumsum(0)
        state, answers = torch.zeros(16, 8), []
        for i in range(5):
            state = cell(encoder(frames[i]), state)
            answers.append(decoder(state))
        loss = nn.functional.mse_loss(torch.stack(answers), frames)
        opt.zero_grad()
        loss.backward()
        opt.step()
