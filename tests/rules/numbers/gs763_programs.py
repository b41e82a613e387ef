"""More programs of GS763: each bad one is reported at its marks, each good one by no rule."""


def bad_model_and_loss_both_shift() -> None:
    import torch
    from torch import nn
    from torch.nn.functional import cross_entropy, pad

    torch.manual_seed(0)

    def causal_loss(logits, labels):
        labels = pad(labels, (0, 1), value=-100)
        labels = labels[..., 1:].contiguous()  # effect: GS763
        return cross_entropy(logits.reshape(-1, 11), labels.view(-1), ignore_index=-100)

    class Writer(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.rnn, self.out = (
                nn.Embedding(11, 8),
                nn.GRU(8, 16, batch_first=True),
                nn.Linear(16, 11),
            )

        def forward(self, ids):
            logits = self.out(self.rnn(self.table(ids))[0])
            cut, goals = logits[:, :-1], ids[:, 1:]
            return causal_loss(cut, goals)  # cause: GS763

    writer = Writer()
    opt = torch.optim.Adam(writer.parameters(), lr=0.01)
    for _ in range(4):
        loss = writer(torch.randint(0, 11, (5, 9)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_data_are_shifted_by_two() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    table, rnn, out = nn.Embedding(7, 8), nn.GRU(8, 16, batch_first=True), nn.Linear(16, 7)
    opt = torch.optim.Adam([p for m in (table, rnn, out) for p in m.parameters()], lr=0.01)
    corpus = torch.randint(0, 7, (300,))
    for at in range(0, 200, 40):
        window, wanted = corpus[at : at + 40].view(4, 10), corpus[at + 2 : at + 42].view(4, 10)
        scores = out(rnn(table(window))[0]).flatten(0, 1)
        loss = nn.functional.cross_entropy(scores, wanted.flatten())  # cause: GS763
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_a_second_head_looks_two_ahead() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    table, rnn = nn.Embedding(7, 8), nn.GRU(8, 16, batch_first=True)
    first_head, second_head = nn.Linear(16, 7), nn.Linear(16, 7)
    modules = (table, rnn, first_head, second_head)
    opt = torch.optim.Adam([p for m in modules for p in m.parameters()], lr=0.01)
    for _ in range(4):
        sentence = torch.randint(0, 7, (4, 12))
        read = rnn(table(sentence))[0]
        one = nn.functional.cross_entropy(first_head(read[:, :-1]).flatten(0, 1), sentence[:, 1:].flatten())
        two = nn.functional.cross_entropy(second_head(read[:, :-2]).flatten(0, 1), sentence[:, 2:].flatten())
        opt.zero_grad()
        (one + two).backward()
        opt.step()


def good_copies_what_came_two_places_before() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    table, rnn, out = nn.Embedding(7, 8), nn.GRU(8, 16, batch_first=True), nn.Linear(16, 7)
    opt = torch.optim.Adam([p for m in (table, rnn, out) for p in m.parameters()], lr=0.01)
    for _ in range(4):
        symbols = torch.randint(0, 7, (4, 12))
        scores = out(rnn(table(symbols))[0])[:, 2:]
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), symbols[:, :-2].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
