"""More programs of GS772: each bad one is reported at its marks, each good one by no rule."""


def bad_state_of_an_lstm() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(12, 8, padding_idx=0)
            self.layer = nn.LSTM(8, 8)
            self.head = nn.Linear(8, 3)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            x = nn.functional.dropout(self.words(tokens).transpose(0, 1), 0.1)
            _, (state, _) = self.layer(x)  # cause: GS772
            scores: torch.Tensor = self.head(state[-1])
            return scores

    torch.manual_seed(0)
    lengths = torch.randint(1, 16, (32,))
    tokens = torch.randint(1, 12, (32, 16)) * (torch.arange(16) < lengths[:, None])
    model = Tagger()
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(model(tokens), torch.randint(3, (32,))).backward()
        opt.step()


def good_packed() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    lengths = torch.randint(1, 16, (32,))
    tokens = torch.randint(1, 12, (32, 16)) * (torch.arange(16) < lengths[:, None])
    words, layer, head = nn.Embedding(12, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 3)
    opt = torch.optim.Adam([*words.parameters(), *layer.parameters(), *head.parameters()])
    for _ in range(3):
        x = nn.utils.rnn.pack_padded_sequence(words(tokens), lengths, batch_first=True, enforce_sorted=False)
        _, state = layer(x)
        opt.zero_grad()
        nn.functional.cross_entropy(head(state[-1]), torch.randint(3, (32,))).backward()
        opt.step()


def good_padded_on_the_left() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    lengths = torch.randint(1, 16, (32,))
    tokens = (torch.randint(1, 12, (32, 16)) * (torch.arange(16) < lengths[:, None])).flip(1)
    words, layer, head = nn.Embedding(12, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 3)
    opt = torch.optim.Adam([*words.parameters(), *layer.parameters(), *head.parameters()])
    for _ in range(3):
        output, _ = layer(words(tokens))
        opt.zero_grad()
        nn.functional.cross_entropy(head(output[:, -1]), torch.randint(3, (32,))).backward()
        opt.step()


def good_mean_over_the_words() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    lengths = torch.randint(1, 16, (32,))
    there = torch.arange(16) < lengths[:, None]
    tokens = torch.randint(1, 12, (32, 16)) * there
    words, layer, head = nn.Embedding(12, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 3)
    opt = torch.optim.Adam([*words.parameters(), *layer.parameters(), *head.parameters()])
    for _ in range(3):
        output, _ = layer(words(tokens))
        mean = (output * there.unsqueeze(2)).sum(1) / lengths.unsqueeze(1)
        opt.zero_grad()
        nn.functional.cross_entropy(head(mean), torch.randint(3, (32,))).backward()
        opt.step()


def good_same_lengths() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    tokens = torch.randint(1, 12, (32, 9))
    tokens[:, -1] = 0  # the end of each sentence
    words, layer, head = nn.Embedding(12, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 3)
    opt = torch.optim.Adam([*words.parameters(), *layer.parameters(), *head.parameters()])
    for _ in range(3):
        output, _ = layer(words(tokens))
        opt.zero_grad()
        nn.functional.cross_entropy(head(output[:, -1]), torch.randint(3, (32,))).backward()
        opt.step()


def bad_lengths_that_nothing_reads() -> None:
    import torch
    from torch import nn

    class Rater(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.layer = nn.Embedding(10, 8), nn.GRU(8, 8, batch_first=True)
            self.head = nn.Linear(8, 1)

        def forward(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
            output, _ = self.layer(self.words(tokens))  # effect: GS772
            scores: torch.Tensor = self.head(output[:, -1])  # cause: GS772
            return scores

    torch.manual_seed(0)
    lengths = torch.randint(2, 13, (32,))
    tokens = torch.randint(1, 10, (32, 12)) * (torch.arange(12) < lengths[:, None])
    target, model = torch.randn(32, 1), Rater()
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        opt.zero_grad()
        nn.functional.mse_loss(model(tokens, lengths), target).backward()
        opt.step()


def bad_measurements_filled_with_zeros() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pad_sequence

    torch.manual_seed(0)
    layer, head = nn.LSTM(3, 8), nn.Linear(8, 4)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()])
    for _ in range(3):
        moves = pad_sequence([torch.randn(int(n), 3) for n in torch.randint(3, 20, (16,))])
        _, (h, _) = layer(moves)  # cause: GS772
        loss = nn.functional.cross_entropy(head(h[-1]), torch.randint(4, (16,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_measurements_at_their_own_ends() -> None:
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pad_sequence

    torch.manual_seed(0)
    layer, head = nn.LSTM(3, 8), nn.Linear(8, 4)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()])
    for _ in range(3):
        lengths = torch.randint(3, 20, (16,))
        output, _ = layer(pad_sequence([torch.randn(int(n), 3) for n in lengths]))
        last = output.gather(0, (lengths - 1).view(1, -1, 1).expand(1, -1, 8)).squeeze(0)
        opt.zero_grad()
        nn.functional.cross_entropy(head(last), torch.randint(4, (16,))).backward()
        opt.step()


def good_rare_counts() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.GRU(2, 8, batch_first=True), nn.Linear(8, 1)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()])
    for _ in range(3):
        events = torch.poisson(torch.full((16, 12, 2), 0.1))
        _, h = layer(events)
        opt.zero_grad()
        nn.functional.mse_loss(head(h[0]), events.sum((1, 2))[:, None]).backward()
        opt.step()
